"""A class name is defined once in a package, so an import shows which one is meant.

Limits have one spelling.
"""

import re
from collections import Counter
from pathlib import Path

import pytest

from jobs.features import NAMES

ROOT = Path(__file__).parents[3]
PACKAGES = (*"compiler launch jobs store worker service adapters client/tritonc".split(), *NAMES)
STAND_INS = ROOT / "compiler/front/stubs"
"""Each of its modules replaces another library, whose names it repeats."""
FOLDERS = sorted(
    {path.parent for package in PACKAGES for path in (ROOT / package).rglob("*.py")} - {STAND_INS}
)
LIMIT = re.compile(
    r"^_?(?:MOST|LONGEST|LARGEST|HIGHEST|LEAST|FEWEST|DEEPEST)(?:_\w+)?(?= *[:=,])", re.MULTILINE
)
CLASS = re.compile(r"^class ([A-Za-z]\w*)", re.MULTILINE)


def repeated(texts: list[str]) -> list[str]:
    names = Counter(name for text in texts for name in CLASS.findall(text))
    return [name for name, count in names.items() if count > 1]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_package_defines_a_class_name_once(folder: Path) -> None:
    assert repeated([path.read_text() for path in folder.glob("*.py")]) == []


def test_a_repeated_class_is_reported() -> None:
    assert repeated(["class Run:\n    pass\n", "class Run(Base):\n    pass\n"]) == ["Run"]


def test_a_limit_begins_with_max_or_min() -> None:
    texts = [path.read_text() for folder in FOLDERS for path in folder.glob("*.py")]

    assert [name for text in texts for name in LIMIT.findall(text)] == []
