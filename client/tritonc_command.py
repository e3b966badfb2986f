"""The command `tritonc` from its first moment: Ctrl-C while it is imported is no traceback.

It stands beside the package, whose own import is most of what there is to interrupt.
"""

import sys

INTERRUPTED = 130  # 128 + SIGINT, as shells say it


def main() -> int:
    """Run the command and return its exit code."""
    try:
        from tritonc.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        sys.stderr.write("tritonc: interrupted\n")
        return INTERRUPTED
