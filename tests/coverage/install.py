"""Lets coverage.py find its plugin, in any folder and environment."""

import sysconfig
from pathlib import Path

HERE = Path(__file__).parent.resolve()

# read before a1_coverage.pth, which starts the measuring
(Path(sysconfig.get_path("purelib")) / "a0_tritond.pth").write_text(f"{HERE}\n")
