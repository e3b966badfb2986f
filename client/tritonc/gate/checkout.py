"""The checkout that a gate judges: a pull request may have written every file and link in it.

Files are read, and the baseline written, only inside the checkout. A path is resolved first, links
included, and only the resolved path is used.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from tritonc.local_file import bounded_bytes, text_of

MAX_GATE_FILE_BYTES = 1 << 20
_OF_GIT = ".git"


class LeavesCheckout(OSError):
    """A path outside of the checkout, or inside .git, which may hold credentials."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """A folder; `root` is its resolved path."""

    root: Path

    @classmethod
    def around(cls, folder: Path) -> "Checkout":
        """Return the git checkout around a folder, or the folder itself if there is none."""
        resolved = folder.resolve()
        every = (resolved, *resolved.parents)
        return cls(next((item for item in every if (item / _OF_GIT).exists()), resolved))

    def inside(self, path: Path) -> Path:
        """Return the resolved path. Raises LeavesCheckout."""
        try:
            resolved = path.resolve()
        except (OSError, ValueError, RuntimeError) as error:  # a loop of links, a NUL
            raise LeavesCheckout(f"{path}: {error}") from error
        if not resolved.is_relative_to(self.root):
            raise LeavesCheckout(
                f"{path} leaves the checkout {self.root}, by `..`, from / or by a link; "
                "copy the file into the checkout"
            )
        if any(part.lower() == _OF_GIT for part in resolved.relative_to(self.root).parts):
            raise LeavesCheckout(f"{path} is inside .git; name a file of the checkout itself")
        return resolved

    def named(self, path: Path) -> Path:
        """Return the resolved path of the command line, which may be outside of the checkout.

        Raises LeavesCheckout if the path as written is inside the checkout, under any of its names,
        but a link leads out.
        """
        written = Path(os.path.abspath(path))  # noqa: PTH100 - do not follow links here
        is_below = any(above.resolve().is_relative_to(self.root) for above in written.parents)
        return self.inside(path) if is_below else path

    def text(self, path: Path) -> str:
        """Return the text of a file. Raises OSError, also LeavesCheckout, UnicodeDecodeError."""
        return bounded_bytes(self.inside(path), MAX_GATE_FILE_BYTES).decode()

    def python_text(self, path: Path) -> str:
        """Return the text of a Python file. Raises OSError, also LeavesCheckout."""
        return text_of(bounded_bytes(self.inside(path)), str(path))
