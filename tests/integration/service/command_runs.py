"""The command `tritonc` run in this process, as its entry point does: a process takes 0.6 s of CPU.

What only a process shows is tested with one: signals, terminals, broken pipes, an exit status.
"""

from __future__ import annotations

import io
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess

from tritonc.cli.main import main


def run(
    url: str, *words: str, folder: Path | None = None, **environment: str
) -> CompletedProcess[str]:
    """Run the command in `folder`, asking the service at `url`; return what a process would."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err), chdir(folder or Path()):
        code = int(main(words, environment={"TRITOND_URL": url, **environment}))
    return CompletedProcess(words, code, _written(out), _written(err))


def _written(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()
