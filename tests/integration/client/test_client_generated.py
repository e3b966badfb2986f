"""The blocking client equals its generator's output for the asyncio client."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
GENERATED = ROOT / "client" / "tritonc" / "_sync"


def test_the_blocking_client_is_current(tmp_path: Path):
    generator = ROOT / "client" / "generate_sync.py"
    subprocess.run([sys.executable, generator, tmp_path], check=True)

    made = {path.name: path.read_text() for path in tmp_path.glob("*.py")}
    kept = {path.name: path.read_text() for path in GENERATED.glob("*.py")}
    assert kept == made, "the blocking client is not current: run `make client`"


def test_the_blocking_client_does_not_speak_of_asyncio():
    for path in GENERATED.glob("*.py"):
        header, _, text = path.read_text().partition("\n")
        assert header.startswith("# Generated from tritonc/_async/")
        assert "async" not in text.lower()
        assert "await" not in text
