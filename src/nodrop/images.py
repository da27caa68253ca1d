"""Images from bytes and files: plain base64 and the media type, as the content model keeps them."""

from __future__ import annotations

import base64
import os
import re
from typing import Final

from nodrop.errors import ConfigurationError

_JPEG: Final = b"\xff\xd8\xff"
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_GIF: Final = (b"GIF87a", b"GIF89a")
_MIME_TYPE: Final = re.compile(r"image/[a-z0-9][a-z0-9.+-]*", re.ASCII)
_KNOWN: Final = "PNG, JPEG, GIF or WebP"


def image_from_bytes(data: bytes, mime_type: str | None = None) -> tuple[str, str]:
    """``data`` as base64, and its media type: the one given, else what its first bytes say.

    Raises :class:`nodrop.ConfigurationError` when there is no data, when the bytes are none of PNG, JPEG, GIF and WebP
    and no type is given, and when the type given is no ``image/...`` or not what the bytes are.
    """
    if not isinstance(data, bytes | bytearray | memoryview):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"an image is bytes, not {type(data).__name__}; ImageContent.from_path reads a file")
    return _encoded(bytes(data), mime_type, "the image")


def read_image(path: str | os.PathLike[str], mime_type: str | None = None) -> tuple[str, str]:
    """The same for a file. The errors name its path, and why it cannot be read."""
    where = f"the image {os.fspath(path)}"
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise ConfigurationError(f"{where} cannot be read: {error.strerror or type(error).__name__}") from error
    return _encoded(data, mime_type, where)


def check_base64(data: str) -> None:
    """Raises :class:`nodrop.ConfigurationError` when the data of an image is no plain base64, or none at all."""
    if data.startswith("data:"):
        raise ConfigurationError("image data must be plain base64, without a data-URL prefix")
    try:
        sound = bool(base64.b64decode(data, validate=True))
    except ValueError:
        sound = False
    if not sound:
        raise ConfigurationError("image data must be plain base64; ImageContent.from_path and from_bytes make it so")


def _encoded(data: bytes, mime_type: str | None, where: str) -> tuple[str, str]:
    if not data:
        raise ConfigurationError(f"{where} is empty")
    found = _sniffed(data)
    if mime_type is None:
        if found is None:
            raise ConfigurationError(f"{where} does not begin like a {_KNOWN} file; give its mime_type")
        mime_type = found
    elif not _MIME_TYPE.fullmatch(mime_type):
        raise ConfigurationError(f"{where}: the mime_type must be that of an image, for example 'image/png'")
    elif found is not None and found != mime_type:
        # The server would refuse it as corrupt, and say so less clearly.
        raise ConfigurationError(f"{where} begins like {found}, but its mime_type says {mime_type}")
    return base64.b64encode(data).decode("ascii"), mime_type


def _sniffed(data: bytes) -> str | None:
    if data.startswith(_PNG):
        return "image/png"
    if data.startswith(_JPEG):
        return "image/jpeg"
    if data.startswith(_GIF):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None
