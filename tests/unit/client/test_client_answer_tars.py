"""Tars that a service sends are unpacked in memory, within a limit, or refused."""

import gzip
import io
import tarfile
import tracemalloc

import pytest
from tritonc import UnexpectedAnswer
from tritonc.answer_tar import MAX_FILES, tar_files
from tritonc.jit_hook import _unpacked

GIB = 1 << 30


def tar_of(*members: tuple[str, bytes], kind: bytes = tarfile.REGTYPE) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, data in members:
            member = tarfile.TarInfo(name)
            member.size, member.type, member.linkname = len(data), kind, "/etc/passwd"
            archive.addfile(member, io.BytesIO(data))
    return packed.getvalue()


def sparse_tar(size_bytes: int) -> bytes:
    """Return a tar with one file that is a hole: old GNU format, whose real size is at 483."""
    head = bytearray(tar_of(("hole", b""))[:512])
    head[156:157] = b"S"
    head[257:265] = b"ustar  \0"
    head[386:410] = b"%011o\0" % size_bytes + b"%011o\0" % 0
    head[483:495] = b"%011o\0" % size_bytes
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head) + bytes(1024)


def test_files_are_read_by_name() -> None:
    packed = tar_of(("a/b.json", b"{}"), ("c", b"c"))

    assert tar_files(packed) == {"a/b.json": b"{}", "c": b"c"}


@pytest.mark.parametrize(
    "archive",
    [
        pytest.param(gzip.compress(tar_of(("a", b"a"))), id="compressed"),
        pytest.param(sparse_tar(4 * GIB), id="sparse"),
        pytest.param(b"no tar" * 1000, id="no tar"),
        pytest.param(tar_of(("a", bytes(4096)))[:1024], id="cut off"),
        pytest.param(tar_of(*((str(n), b"") for n in range(MAX_FILES + 1))), id="many files"),
        pytest.param(b"", id="empty"),
    ],
)
def test_what_unpacks_to_too_much_is_refused(archive: bytes) -> None:
    tracemalloc.start()
    with pytest.raises(UnexpectedAnswer, match="the service sent a tar"):
        tar_files(archive)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak_bytes < 64 << 20


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_only_regular_files_are_read(kind: bytes) -> None:
    assert tar_files(tar_of(("a", b""), kind=kind)) == {}


def test_a_cache_entry_has_no_file_outside_of_its_folder() -> None:
    named = ("FOLDER/k.json", "FOLDER/..", "FOLDER/../k.json", "/k.json", "k.json", "a/b/k.json")

    entry = _unpacked(tar_of(*((name, b"{}") for name in named)))

    assert entry["FOLDER"] == {"k.json": b"{}"}
