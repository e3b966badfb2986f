"""The command before the client is imported: Ctrl-C, and its version."""

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


def test_the_version_is_printed_without_importing_the_client() -> None:
    text = "import sys, tritonc_command as c; sys.argv = ['tritonc', '--version']; c.main()"
    text += "; print({'tritonc', 'httpx'} & set(sys.modules))"

    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)

    assert done.stdout == "tritonc 0.1.0\nset()\n"
