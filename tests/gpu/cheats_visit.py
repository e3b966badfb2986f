"""Posts the cheats and honest controls of a folder to a tritond on this machine's GPU.

`python tests/gpu/cheats_visit.py FOLDER [SECONDS [WORD...]]`, where FOLDER has `cheats.jsonl` and
`run.py`, which judges answers; words choose names. It counts the cheats that are believed, and the
controls that failed, of those that were answered within the limit. The first to be posted need a
GPU.
"""
# ruff: noqa: T201 - a script that reports

import importlib.util
import json
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import httpx

from tests.gpu.programs_on_gpu import programs_on_gpu

LIMIT_S = 480.0
PARALLEL = 8
ENOUGH_COVERAGE = 0.5
KINDS = {"program", "launch"}
Case = dict[str, Any]


def main() -> None:
    folder, *more = sys.argv[1:]
    limit, words = (more[0], more[1:]) if more else (LIMIT_S, [])
    judge = loaded(Path(folder) / "run.py")
    ends = time.monotonic() + float(limit)
    cases = [
        one for one in judge.ALL if one["where"] != "cpu" and one["kind"] in {"program", "launch"}
    ]
    cases = [one for one in cases if not words or any(word in one["name"] for word in words)]
    cases.sort(key=lambda one: (one["where"] != "gpu", not one["control"]))
    with tempfile.TemporaryDirectory() as data, programs_on_gpu(Path(data)) as service:
        counts = posted(judge, cases, str(service.base_url), ends)
    left = len(cases) - sum(counts.values())
    print(json.dumps(counts), f"of {len(cases)}; {left} were not answered in time", flush=True)


def loaded(path: Path) -> Any:
    """Return the module of a script."""
    spec = importlib.util.spec_from_file_location("judge", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def posted(judge: Any, cases: list[Case], url: str, ends: float) -> Counter[str]:
    """Post all cases, print a line for each answer, and count the judgements."""
    counts: Counter[str] = Counter()
    pool = ThreadPoolExecutor(PARALLEL)
    waiting: set[Future[tuple[str, str]]] = {pool.submit(judged, judge, one, url) for one in cases}
    while waiting and time.monotonic() < ends:
        done, waiting = wait(waiting, ends - time.monotonic(), FIRST_COMPLETED)
        for future in done:
            word, line = future.result()
            counts[word] += 1
            print(line, flush=True)
    pool.shutdown(wait=False, cancel_futures=True)
    return counts


def judged(judge: Any, one: Case, url: str) -> tuple[str, str]:
    """Return the judgement of a case in a word, and a line about it."""
    began = time.monotonic()
    with httpx.Client(base_url=url, timeout=300) as http:
        try:
            answer = judge.post(http, one, gpu=True)
            verdict, flags, findings, coverage, speed, passed, warned = judge.judged(one, answer)
        except (httpx.HTTPError, LookupError, TypeError, ValueError) as error:
            return "failed", f"{one['name']} failed: {error!r:.200}"
    serious = [kind for kind in findings if kind not in judge.NEUTRAL]
    is_clean = passed and not flags and not serious
    is_clean = is_clean and (coverage is None or coverage >= ENOUGH_COVERAGE)
    if one["control"]:
        word = "control passed" if is_clean else "control failed"
    else:
        word = "believed" if is_clean else "passed, but told" if passed else "caught"
    seconds = time.monotonic() - began
    details = f"{verdict!s:.40} {flags} {findings} coverage {coverage} speed {speed} {warned[:3]}"
    return word, f"{one['name']:44} {word:16} {details} {seconds:.1f} s"


if __name__ == "__main__":
    main()
