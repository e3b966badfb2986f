"""The command `tritonc`. Ctrl-C during its import prints no traceback.

This module is outside of the package because importing the package takes most of that time.
"""

import sys

from tritonc_version import __version__

INTERRUPTED = 130  # 128 + SIGINT, as shells report it


def main() -> int:
    """Run the command and return its exit code."""
    try:
        if sys.argv[1:] == ["--version"]:
            sys.stdout.write(f"tritonc {__version__}\n")
            return 0
        from tritonc.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        sys.stderr.write("tritonc: interrupted\n")
        return INTERRUPTED
