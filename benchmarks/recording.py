"""Measures how long a program takes to be recorded, compared with eager torch and its fake tensors.

Run it in the environment of torch: `.cache/torch/bin/python benchmarks/recording.py`. It prints
microseconds of CPU time for each ATen op, of 24,600 small ones.
"""

import argparse
import cProfile
import json
import pstats
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

SOURCE = """
import torch

def unpack(w):
    out = torch.zeros(w.shape[0], w.shape[1] // 8, dtype=torch.int32, device=w.device)
    for pack in range(0, w.shape[1], 8):
        for i in range(8):
            out[:, pack // 8] += w[:, pack + i] << (i * 4)
    return out

def get_inputs():
    return [torch.zeros(64, COLUMNS, dtype=torch.int32)]
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", type=int, default=2048)
    parser.add_argument("--profile", action="store_true", help="print the recorder's functions")
    arguments = parser.parse_args()
    source = SOURCE.replace("COLUMNS", str(arguments.columns))
    from torch._subclasses.fake_tensor import FakeTensorMode

    eager_s = called_s(source)
    with FakeTensorMode():
        called_s(source)  # it imports what it needs
        FakeTensorMode.cache_clear()
        fake_s = called_s(source)
    from programs.recorder.record_tasks import warm_up

    warm_up()
    FakeTensorMode.cache_clear()
    profile = cProfile.Profile() if arguments.profile else None
    ops, recorded_s = recorded(source, profile)
    for name, seconds in (("eager", eager_s), ("fake", fake_s), ("recorded", recorded_s)):
        print(f"{name:10} {seconds:6.2f} s, {1e6 * seconds / ops:6.0f} us each of {ops} ops")
    print(f"recorded / fake: {recorded_s / fake_s:.2f}")
    if profile is not None:
        pstats.Stats(profile).sort_stats("tottime").print_stats(40)


def called_s(source: str) -> float:
    """Return the seconds of CPU time that the program takes in this process."""
    names: dict[str, Any] = {}
    exec(compile(source, "program.py", "exec"), names)
    inputs = names["get_inputs"]()
    started = time.process_time()
    names["unpack"](*inputs)
    return time.process_time() - started


def recorded(source: str, profile: cProfile.Profile | None) -> tuple[int, float]:
    """Return the number of ops of a recording of one call, and its seconds of CPU time."""
    from programs.recorder.record import record
    from programs.recorder.record_order import RecordOrder

    order = RecordOrder(entries=({"kind": "script", "outputs": None},))
    started = time.process_time()
    if profile is not None:
        profile.enable()
    tape = record(order, f"{source}\nout = unpack(*get_inputs())\n", {}).tape
    if profile is not None:
        profile.disable()
    return len(json.loads(tape)["ops"]), time.process_time() - started


if __name__ == "__main__":
    main()
