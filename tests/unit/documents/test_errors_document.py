"""docs/reference/errors.md is what `make errors-page` writes."""

from tests.unit.documents.errors_page import DOCUMENT, errors_page


def test_the_reference_of_errors_has_every_slug_as_the_table_does() -> None:
    assert DOCUMENT.read_text() == errors_page(), "run `make errors-page`"
