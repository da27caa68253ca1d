"""`python -m codegen ledger`: writes the ledger entries that follow from decisions already made, and no others.

What lies inside a rejected type is rejected with it; a tag goes by its union's table; a field that the arm of a mapped
type reads goes where the arm puts it. Anything else stays a finding: someone has to decide it.
"""

from pathlib import Path

from codegen import answers, check, check_fields
from codegen.hand import LEDGER


def write(root: Path) -> list[str]:
    """Write them, and say which."""
    sides = check.read(root)
    table = sides.hand.ledger["FIELDS"]
    lines = (root / LEDGER).read_text(encoding="utf-8").splitlines(keepends=True)
    found = check_fields.derived(sides)
    places = {key: answers.last_of(table, key.rpartition(".")[0]) for key in found}
    for key in sorted(found, key=lambda key: -places[key]):  # from the bottom up: line numbers above stay true
        same = [other for other in found if places[other] == places[key]]
        if key == same[0]:
            lines[places[key] : places[key]] = [f"    {found[other]}\n" for other in same]
    if found:
        (root / LEDGER).write_text("".join(lines), encoding="utf-8")
    return list(found.values())
