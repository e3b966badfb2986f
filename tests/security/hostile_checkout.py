"""Modules of a hostile checkout: a process that imports one has run an attacker's code."""

from __future__ import annotations

from pathlib import Path

NAMES = (
    "argparse", "asyncio", "ensurepip", "hatchling", "httpx", "json", "pip", "secrets", "service",
    "sitecustomize", "socket", "triton", "tritonc", "tritonc_command", "tritonc_version",
    "usercustomize", "venv", "worker",
)  # fmt: skip


def hostile_modules(folder: Path) -> Path:
    """Write them into `folder`; return the file that appears once one of them is imported."""
    ran = folder.parent / f"{folder.name}.ran"
    probe = f"import os\nwith open({str(ran)!r}, 'a') as ran:\n"
    probe += "    print(__file__, os.environ.get('TRITOND_API_KEY'), file=ran)\n"
    for name in NAMES:
        (folder / f"{name}.py").write_text(probe)
    return ran
