"""Images from bytes and files."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from nodrop.content import ImageContent
from nodrop.errors import ConfigurationError

PNG = b"\x89PNG\r\n\x1a\n" + b"rest"
JPEG = b"\xff\xd8\xff\xe0" + b"rest"
GIF = b"GIF89a" + b"rest"
WEBP = b"RIFF\x00\x00\x00\x00WEBP" + b"rest"


@pytest.mark.parametrize(
    ("data", "mime_type"),
    [
        (PNG, "image/png"),
        (JPEG, "image/jpeg"),
        (GIF, "image/gif"),
        (b"GIF87a", "image/gif"),
        (WEBP, "image/webp"),
    ],
)
def test_the_type_is_read_from_the_first_bytes(data: bytes, mime_type: str, tmp_path: Path) -> None:
    path = tmp_path / "an image without a suffix"
    path.write_bytes(data)
    for image in (
        ImageContent.from_bytes(data),
        ImageContent.from_bytes(data, mime_type),
        ImageContent.from_path(path),
        ImageContent.from_path(str(path), mime_type),
    ):
        assert image.mime_type == mime_type
        assert base64.b64decode(image.data, validate=True) == data


def test_other_bytes_need_a_type() -> None:
    assert ImageContent.from_bytes(b"BM rest", "image/bmp").mime_type == "image/bmp"
    with pytest.raises(ConfigurationError, match="the image does not begin like a PNG, JPEG, GIF or WebP file"):
        ImageContent.from_bytes(b"RIFF\x00\x00\x00\x00WAVE")


@pytest.mark.parametrize(
    ("data", "mime_type", "why"),
    [
        (b"", None, "the image is empty"),
        (b"", "image/png", "the image is empty"),
        (b"SECRET", None, "does not begin like"),
        (b"SECRET", "text/plain", "must be that of an image"),
        (b"SECRET", "image/png;base64,SECRET", "must be that of an image"),
        (PNG, "image/jpeg", "begins like image/png, but its mime_type says image/jpeg"),
    ],
)
def test_what_is_no_image_is_refused(data: bytes, mime_type: str | None, why: str, tmp_path: Path) -> None:
    path = tmp_path / "picture"
    path.write_bytes(data)
    with pytest.raises(ConfigurationError, match=why) as caught:
        ImageContent.from_bytes(data, mime_type)
    assert "SECRET" not in str(caught.value)
    with pytest.raises(ConfigurationError, match="picture"):
        ImageContent.from_path(path, mime_type)


def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"missing\.png cannot be read: No such file"):
        ImageContent.from_path(tmp_path / "missing.png")
    with pytest.raises(ConfigurationError, match="cannot be read: Is a directory"):
        ImageContent.from_path(tmp_path)


@pytest.mark.parametrize("data", ["iVBORw0KGgo=", 5, None, ["a"]])
def test_an_image_that_is_no_bytes(data: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"an image is bytes, not {type(data).__name__}"):
        ImageContent.from_bytes(data)


def test_any_bytes_will_do() -> None:
    given: list[Any] = [PNG, bytearray(PNG), memoryview(PNG)]
    images = [ImageContent.from_bytes(data) for data in given]
    assert images[0] == images[1] == images[2]
