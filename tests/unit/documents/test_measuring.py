"""The table of cheats lists every cheat, in the row of each of its classes, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from tests.security.cheats.cheat import FILES
from tests.security.cheats.table import CHEATS

DOCUMENT = Path(__file__).parents[2] / "security" / "cheats" / "README.md"
ROW = re.compile(r"^\| (\d+) \|.*\| (.*) \|$", re.MULTILINE)
KNOWN_CLASSES = 27


def rows() -> dict[int, str]:
    """Return the last column of each numbered row."""
    return {int(number): last for number, last in ROW.findall(DOCUMENT.read_text())}


def test_every_class_has_a_row() -> None:
    assert list(rows()) == list(range(1, len(rows()) + 1))
    assert len(rows()) > KNOWN_CLASSES


def test_the_rows_of_a_cheats_classes_name_it() -> None:
    reported = rows()
    for cheat in CHEATS:
        folder = cheat.file.split("/")[0]
        for number in map(int, cheat.classes.split()):
            assert cheat.file in reported[number] or f"{folder}/*" in reported[number], (
                cheat.file,
                number,
            )


def test_every_file_that_a_row_names_is_tried() -> None:
    tried = {cheat.file for cheat in CHEATS}
    named = {name for last in rows().values() for name in re.findall(r"`(\w+/\w+)`", last)}

    assert named - {"tests/security"} <= tried


def test_every_file_of_a_cheat_is_tried() -> None:
    files = {str(path.relative_to(FILES).with_suffix("")) for path in FILES.glob("*/*.py")}

    assert files == {cheat.file for cheat in CHEATS}
