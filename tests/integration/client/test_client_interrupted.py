"""Ctrl-C while the command is still being imported."""

import subprocess
import sys

INTERRUPTED_AT_HTTPX = """
import sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "httpx":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
from tritonc_command import main
sys.exit(main())
"""


def test_it_is_no_traceback():
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_AT_HTTPX], capture_output=True, text=True, timeout=60
    )

    assert (done.returncode, done.stderr) == (130, "tritonc: interrupted\n")
