"""Lets coverage.py find its plugin here, whatever folder and environment a process starts in."""

import sysconfig
from pathlib import Path

HERE = Path(__file__).parent.resolve()

# read before a1_coverage.pth, which starts the measuring
(Path(sysconfig.get_path("purelib")) / "a0_tritond.pth").write_text(f"{HERE}\n")
