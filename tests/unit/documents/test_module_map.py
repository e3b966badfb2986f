"""tests/MAP.md is what `make map` writes."""

from tests.module_map import MAP, imported, module_map


def test_the_map_of_modules_and_tests_is_current() -> None:
    assert MAP.read_text() == module_map(), "run `make map`"


def test_names_and_modules_are_read_from_imports() -> None:
    text = "import a.b\nfrom c.d import (\n    e,\n    f,\n)\n"

    assert imported(text) == {"a.b", "c.d", "c.d.e", "c.d.f"}
