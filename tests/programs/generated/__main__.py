"""`python -m tests.programs.generated [--programs 1000] [--seed 1] [--only SEED]`: print a table.

Continues after a disagreement, and exits with 1 if there was one. `--only` generates one program.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

import torch

from tests.programs.generated.comparing import DISAGREES, compared, reported
from tests.programs.generated.generating import generated
from tests.programs.with_torch.recording_process import RecordingProcess


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.programs.generated")
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    parser.add_argument("--every", type=int, default=500, help="how often the table is printed")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    seeds = range(asked.seed, asked.seed + asked.programs)
    if asked.only is not None:
        seeds = range(asked.only, asked.only + 1)
    counts: Counter[tuple[str, str]] = Counter()
    recorder = RecordingProcess()
    try:
        for done, seed in enumerate(seeds, start=1):
            program = generated(seed)
            verdict = compared(recorder, program)
            counts[program.theme, verdict.word] += 1
            if verdict.word == DISAGREES or asked.only is not None:
                print(reported(program, verdict), flush=True)
            elif verdict.word.startswith("refused"):
                print(f"seed {seed}: {verdict.word}: {verdict.detail:.150}")
            if done % asked.every == 0 or done == len(seeds):
                print(table(counts), f"{time.process_time():.0f} s of CPU here", flush=True)
    finally:
        recorder.close()
    return int(any(word == DISAGREES for _, word in counts))


def table(counts: Counter[tuple[str, str]]) -> str:
    """Return how many programs of each theme had each verdict."""
    words = sorted({word for _, word in counts})
    rows = [f"| of {counts.total()} programs | all | {' | '.join(words)} |"]
    rows.append("|---" * (len(words) + 2) + "|")
    themes = sorted({theme for theme, _ in counts})
    for theme in themes:
        cells = [counts[theme, word] for word in words]
        rows.append(f"| {theme} | {sum(cells)} | {' | '.join(map(str, cells))} |")
    sums = [sum(counts[theme, word] for theme in themes) for word in words]
    rows.append(f"| all | {counts.total()} | {' | '.join(map(str, sums))} |")
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
