"""Secrets in files that `_FILE` variables name."""

from pathlib import Path

import pytest

from service.command import InvalidSecretFile, read_secret_files


def test_a_file_takes_the_place_of_its_variable(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("s3cret\n")
    environment = {"TRITOND_ADMIN_KEY_FILE": str(tmp_path / "key"), "OTHER_FILE": "x"}

    read_secret_files(environment)

    assert environment == {"TRITOND_ADMIN_KEY": "s3cret", "OTHER_FILE": "x"}


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"TRITOND_REDIS_URL_FILE": "gone"}, "TRITOND_REDIS_URL_FILE: gone: No such file"),
        ({"TRITOND_REDIS_URL_FILE": "/dev/null"}, "TRITOND_REDIS_URL_FILE: /dev/null is empty"),
        ({"TRITOND_ADMIN_KEY_FILE": "a", "TRITOND_ADMIN_KEY": "b"}, "both set; keep one"),
    ],
)
def test_a_wrong_file_is_named(environment: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidSecretFile, match=said):
        read_secret_files(environment)
