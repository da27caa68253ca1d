"""JSON that broke off, closed where it broke: so that what had arrived of a whole completion is kept."""

from __future__ import annotations

import codecs
import json
import re
from typing import Any, Final

from pydantic_core import from_json

_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)  # also one that the text breaks off in
_OPEN_CONTENT: Final = re.compile(r'"(?:content|text|arguments)"\s*:\s*"(?:[^"\\]|\\.?)*+\Z', re.DOTALL)
_NUMBER: Final = re.compile(r"[-+.0-9eE]+\Z")


def closed(data: bytes) -> bytes | None:
    """``data`` as whole JSON. Content is kept as far as it came; what else was cut (a name, a number) is left out.

    ``None`` when it is no beginning of JSON.
    """
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(data)  # without a character that was cut
    number = _NUMBER.search(_STRING.sub("", text))
    if number is not None:  # no string is open, so the text ends in it too: 12 may have become 123
        text = text[: -len(number[0])]
    try:
        value: Any = from_json(text, allow_partial="trailing-strings" if _OPEN_CONTENT.search(text) else True)
    except ValueError:
        return None
    return json.dumps(value).encode()
