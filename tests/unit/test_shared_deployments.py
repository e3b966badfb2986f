"""Which files of tests are run by one process, for the sake of a deployment that they share."""

from tests.conftest import SHARING, TESTS


def test_every_file_that_shares_a_deployment_is_there() -> None:
    names = {path.stem for path in TESTS.rglob("test_*.py")}

    assert [name for files in SHARING.values() for name in files if name not in names] == []
