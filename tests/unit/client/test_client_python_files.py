"""The client reads source files as Python does, in any encoding."""

from __future__ import annotations

from pathlib import Path

import pytest
from tritonc.local_file import text_of
from tritonc.local_imports import local_imports


def test_a_coding_line_is_followed() -> None:
    text = "# -*- coding: latin-1 -*-\nx = 'é'\n"

    assert text_of(text.encode("latin-1"), "k.py") == text


def test_a_byte_order_mark_is_left_out() -> None:
    assert text_of(b"\xef\xbb\xbfx = 1\n", "k.py") == "x = 1\n"


def test_line_endings_are_pythons() -> None:
    assert text_of(b"x = 1\r\ny = 2\r", "k.py") == "x = 1\ny = 2\n"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"x = '\xe9'\n", r"k\.py is not Python text: .*; save it as UTF-8"),
        (b"# coding: nowhere\n", r"k\.py is not Python text: unknown encoding: nowhere"),
        (b"# coding: ascii\n\nx = '\xe9'\n", r"k\.py is not valid ascii"),
    ],
)
def test_bytes_that_are_no_python_text_are_refused(data: bytes, said: str) -> None:
    with pytest.raises(OSError, match=said):
        text_of(data, "k.py")


def test_modules_are_found_from_and_read_in_any_encoding(tmp_path: Path) -> None:
    source = tmp_path / "k.py"
    source.write_bytes(b"\xef\xbb\xbfimport helpers\n")
    said = "# coding: latin-1\nname = 'é'\n"
    (tmp_path / "helpers.py").write_bytes(said.encode("latin-1"))

    assert local_imports(source) == {"helpers.py": said}
