"""Files of a tar that the service sent: kept in memory, nothing is written or executed."""

import io
import tarfile

from tritonc.answer_body import MAX_FILE_BYTES
from tritonc.service_errors import UnexpectedAnswer

MAX_FILES = 10_000


def tar_files(archive: bytes) -> dict[str, bytes]:
    """Return the regular files by their names.

    A sparse file takes little in the tar and much in memory, and a compressed tar does, too. Raises
    UnexpectedAnswer for these, and for anything else that is not a tar.
    """
    files: dict[str, bytes] = {}
    left_bytes = MAX_FILE_BYTES
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as packed:
            for member in packed:
                left_bytes -= member.size
                if len(files) >= MAX_FILES or left_bytes < 0 or member.issparse():
                    raise UnexpectedAnswer("the service sent a tar that unpacks to too much")
                file = packed.extractfile(member) if member.isreg() else None
                if file is not None:
                    files[member.name] = file.read()
    except (tarfile.TarError, ValueError, OSError, EOFError, OverflowError) as error:
        raise UnexpectedAnswer(f"the service sent a tar that cannot be read: {error}") from error
    return files
