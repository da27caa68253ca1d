"""Every single-point mutation of what can arrive is reported, by name, as the ledger says."""

import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from codegen import catalogue, check, spec
from codegen.document import Schema, read
from codegen.report import Finding
from codegen.sides import Hand, Sides
from tests.codegen.support import ROOT

DOCUMENT = read(ROOT / "openapi/mistral.yaml")
TODAY = catalogue.build(DOCUMENT)
HAND = Hand.read(ROOT)


@dataclass(frozen=True)
class Mutation:
    """A changed document; the name of what was changed; and whether nobody reads it (then it may be news)."""

    kind: str
    thing: str
    document: Schema
    unread: bool = False


def mutated() -> tuple[Schema, dict[str, Any]]:
    document = copy.deepcopy(DOCUMENT)
    return document, spec.schemas(document)


def unions() -> Iterator[Mutation]:
    for union in TODAY.unions.values():
        document, named = mutated()
        mapping = named[union.name]["discriminator"]["mapping"]
        named["BrandNewChunk"] = {
            "type": "object",
            "required": ["type"],
            "properties": {"type": {"type": "string", "const": "brand_new"}},
        }
        mapping["brand_new"] = "#/components/schemas/BrandNewChunk"
        named[union.name]["oneOf"].append({"$ref": mapping["brand_new"]})
        yield Mutation("add a tag", f"{union.name} 'brand_new'", document)
        document, named = mutated()
        named[union.name]["anyOf"] = named[union.name].pop("oneOf")
        del named[union.name]["discriminator"]
        yield Mutation("drop a discriminator", union.name, document)
        for tag in union.tags():
            document, named = mutated()
            mapping = named[union.name]["discriminator"]["mapping"]
            ref = mapping.pop(tag)
            named[union.name]["oneOf"].remove({"$ref": ref})
            yield Mutation("drop a tag", f"{union.name} {tag!r}", document)
            document, named = mutated()
            mapping = named[union.name]["discriminator"]["mapping"]
            mapping["renamed"] = mapping.pop(tag)
            named[mapping["renamed"].rsplit("/", 1)[-1]]["properties"]["type"]["const"] = "renamed"
            for other in TODAY.unions:  # the class has one tag, in every union that it is in
                elsewhere = named[other]["discriminator"]["mapping"]
                if elsewhere.get(tag) == mapping["renamed"]:
                    elsewhere["renamed"] = elsewhere.pop(tag)
            yield Mutation("rename a tag", f"{union.name} 'renamed'", document)


def enums() -> Iterator[Mutation]:
    for enum in TODAY.enums.values():
        document, named = mutated()
        named[enum.name]["enum"].append("brand_new")
        yield Mutation("add an enum value", f"{enum.name} 'brand_new'", document)
        for value in enum.members:
            document, named = mutated()
            named[enum.name]["enum"].remove(value)
            yield Mutation("drop an enum value", f"{enum.name} {value!r}", document)


def fields() -> Iterator[Mutation]:
    for owner in sorted({field.owner for field in TODAY.fields.values()}):
        document, named = mutated()
        named[owner]["properties"]["brand_new"] = {"type": "string"}
        yield Mutation("add a field", f"{owner}.brand_new", document)
    for field in TODAY.fields.values():
        unread = HAND.ledger["FIELDS"].rows[field.key].action in ("ignored", "rejected")
        document, named = mutated()
        del named[field.owner]["properties"][field.name]
        yield Mutation("drop a field", field.key, document)
        document, named = mutated()
        properties = named[field.owner]["properties"]
        properties["renamed"] = properties.pop(field.name)
        yield Mutation("rename a field", field.key, document)
        for kind in ("boolean", "array"):
            document, named = mutated()
            new: Schema = {"type": "array", "items": {"type": "boolean"}} if kind == "array" else {"type": kind}
            if field.type == kind:
                new = {"type": "number"}
            named[field.owner]["properties"][field.name] = new
            yield Mutation("change a type", field.key, document, unread)
        document, named = mutated()
        here = named[field.owner]["properties"]
        here[field.name] = {"anyOf": [here[field.name], {"type": "null"}]}
        if "null" not in field.type and field.type != "any":
            yield Mutation("allow null", field.key, document, unread)
        document, named = mutated()
        required = set(named[field.owner].get("required", ())) ^ {field.name}
        named[field.owner]["required"] = sorted(required)
        yield Mutation("change presence", field.key, document, unread)


MUTATIONS = [*unions(), *enums(), *fields()]


def findings(document: Schema) -> list[Finding]:
    return check.decisions(Sides(catalogue.build(spec.tidy(document)), HAND, {"": 1}))


def test_the_document_itself_has_no_findings() -> None:
    assert findings(DOCUMENT) == []


def test_every_mutation_is_reported_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    counts: Counter[str] = Counter()
    severities: Counter[str] = Counter()
    for mutation in MUTATIONS:
        found = findings(mutation.document)
        named = [finding for finding in found if finding.thing == mutation.thing]
        assert named, (mutation.kind, mutation.thing, [finding.thing for finding in found])
        worst = "error" if any(finding.severity == "error" for finding in named) else "info"
        assert worst == ("info" if mutation.unread else "error"), (mutation.kind, mutation.thing, named)
        for finding in named:
            assert finding.hand is None or finding.hand.line >= 1
        if mutation.kind == "rename a tag" and not mutation.thing.startswith("ResourceContent"):
            assert {finding.id for finding in named} <= {"tag-renamed", "part-renamed"}
        counts[mutation.kind] += 1
        severities[worst] += 1
    with capsys.disabled():
        print(f"\n  {len(MUTATIONS)} mutations, all reported: {dict(severities)}; {dict(counts)}")
    assert severities["error"] > 300
    assert severities["info"] > 50
