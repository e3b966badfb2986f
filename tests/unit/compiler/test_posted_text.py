"""Posted text is decoded as Python decodes a file: coding lines and byte order marks."""

from __future__ import annotations

import linecache
from pathlib import Path

import pytest

from compiler.posted_text import lines_of, python_text


@pytest.mark.parametrize(
    "text",
    [
        "# -*- coding: latin-1 -*-\nx = 'é'\n",
        "#!/usr/bin/env python\n# vim: set fileencoding=koi8-r :\nx = 'я'\n",
        "# coding: utf-8-sig\nx = '→'\n",
        "import x\n# coding: nowhere\n",
        "\n\n# coding: nowhere\n",
        "",
    ],
)
def test_a_text_is_what_it_says(text: str) -> None:
    assert python_text(text) == text


def test_a_byte_order_mark_is_no_part_of_it() -> None:
    assert python_text("\ufeff# coding: utf-8\nx = 1\n") == "# coding: utf-8\nx = 1\n"


def test_every_line_ends_in_a_line_feed() -> None:
    assert python_text("a = 1\r\nb = 2\rc = '\x0c\u2028'\n") == "a = 1\nb = 2\nc = '\x0c\u2028'\n"


def test_its_lines_are_those_of_a_file(tmp_path: Path) -> None:
    for text in ("", "a = 1", "a = 1\n", "a = 1\n\n", "a = '\x0c\u2028'\nb = 2\n"):
        file = tmp_path / f"{len(text)}.py"
        file.write_text(text, encoding="utf-8")
        assert lines_of(text) == linecache.getlines(str(file))


@pytest.mark.parametrize(
    ("text", "said", "line"),
    [
        ("# coding: nowhere\n", "unknown encoding: nowhere", 1),
        ("\n# coding: rot13\n", "unknown encoding: rot13", 2),
        ("# coding: utf-16\n", "unknown encoding: utf-16", 1),
        ("\ufeff# coding: latin-1\n", "encoding problem: latin-1 with BOM", 1),
        ("# coding: ascii\nx = 'é'\n", "ascii has no 'é'", 1),
        ("# coding: latin-1\nx = '€'\n", "latin-1 has no '€'", 1),
    ],
)
def test_an_encoding_that_no_such_file_has_is_refused(text: str, said: str, line: int) -> None:
    with pytest.raises(SyntaxError, match=said) as refused:
        python_text(text)

    assert refused.value.lineno == line
