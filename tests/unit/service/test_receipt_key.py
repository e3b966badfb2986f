"""The key of receipts: made once, for its owner alone, and refused where it is not safe."""

from __future__ import annotations

import base64
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from service.receipt_key import InvalidReceiptKey, ReceiptKey, receipt_key
from service.up import OF_THE_SERVICE

pytestmark = pytest.mark.unit


def key_at(path: Path) -> ReceiptKey:
    key = receipt_key(path)
    assert key is not None
    return key


def test_a_key_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"

    made = key_at(path)

    assert path.stat().st_mode & 0o777 == 0o600
    assert key_at(path).public == made.public
    assert list(tmp_path.iterdir()) == [path]


def test_services_that_start_at_once_have_one_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = list(pool.map(key_at, [tmp_path / "key.pem"] * 8))

    assert len({key.public for key in keys}) == 1


def test_its_public_half_verifies_what_it_signs(tmp_path: Path) -> None:
    key = key_at(tmp_path / "key.pem")
    public = Ed25519PublicKey.from_public_bytes(base64.b64decode(key.described()["public"]))

    public.verify(key.sign(b"text"), b"text")
    with pytest.raises(InvalidSignature):
        public.verify(key.sign(b"text"), b"another text")


def test_a_key_that_every_user_may_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    key_at(path)
    path.chmod(0o644)

    with pytest.raises(InvalidReceiptKey, match="every user may read"):
        receipt_key(path)


def test_a_file_that_is_no_key_is_refused_without_its_text(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    path.write_text("a secret")
    path.chmod(0o600)

    with pytest.raises(InvalidReceiptKey, match="not an Ed25519 key") as refused:
        receipt_key(path)
    assert "a secret" not in str(refused.value)


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidReceiptKey, match="No such file"):
        receipt_key(tmp_path / "absent" / "key.pem")


def test_workers_do_not_learn_where_the_key_is() -> None:
    assert "TRITOND_RECEIPT_KEY_FILE" in OF_THE_SERVICE


def test_no_key_is_needed(tmp_path: Path) -> None:
    assert receipt_key(None) is None
    assert not list(tmp_path.iterdir())
