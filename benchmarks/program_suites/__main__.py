"""Evaluates a public suite of host programs: recorded, replayed, and failed with reasons.

Run it in the environment of `make test-torch` (recording needs torch):

    PYTHONPATH=benchmarks .cache/torch/bin/python -m program_suites kernelbench FOLDER

FOLDER is a checkout of the suite. Every program is its own reference: it passes if both replays
give the same result, and no kernel does anything invalid. Prints the tables of
benchmarks/results/programs-corpus.md. `.cache/programs` stores the outcomes, and a second call
continues.
"""

import argparse
import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
from deployment import ROOT, Deployment

from program_suites.reduced_sizes import reduced
from program_suites.suites import SUITES, SuiteProgram

CACHE = ROOT / ".cache/programs"
WAIT_S = 60
AT_ONCE = 2
FINISHED = {"completed", "failed", "cancelled"}


def main() -> None:
    """Evaluate one suite and print its tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("folder", type=Path, help="a checkout of the suite")
    parser.add_argument("--most", type=int, help="programs, evenly drawn")
    parser.add_argument("--only", help="programs whose name contains this")
    parser.add_argument("--full-sizes", action="store_true", help="keep KernelBench's sizes")
    parser.add_argument("--timeout-s", type=float, default=120, help="of each run")
    parser.add_argument("--record-only", action="store_true", help="stop after the tape")
    parser.add_argument("--url", help="URL of a service; default: start one")
    arguments = parser.parse_args()
    programs = [
        each
        for each in SUITES[arguments.suite](arguments.folder)
        if (arguments.only or "") in each.name
    ]
    if arguments.most is not None:
        programs = programs[:: max(1, len(programs) // arguments.most)][: arguments.most]
    if arguments.suite == "kernelbench" and not arguments.full_sizes:
        programs = [_smaller(program) for program in programs]
    form = "tapes" if arguments.record_only else "replays"
    outcomes = Outcomes(CACHE / f"{arguments.suite}-{form}.jsonl")
    if arguments.url is not None:
        _go_over(arguments, programs, outcomes, arguments.url)
    else:
        with Deployment() as deployment:
            url = f"http://127.0.0.1:{deployment.serve().port}"
            _go_over(arguments, programs, outcomes, url)
    show(arguments.suite, [outcomes.by_name[program.name] for program in programs])


class Outcomes:
    """The outcome of each program by name, stored in a file."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self.by_name: dict[str, dict[str, Any]] = {
            outcome["name"]: outcome for outcome in map(json.loads, lines)
        }

    def add(self, outcome: dict[str, Any]) -> None:
        """Store one outcome."""
        self.by_name[outcome["name"]] = outcome
        with self._path.open("a") as file:
            file.write(json.dumps(outcome) + "\n")


def _smaller(program: SuiteProgram) -> SuiteProgram:
    kept = CACHE / "sizes" / f"{program.name.replace('/', '-')}.json"
    text, _ = reduced(program.source, kept)
    return SuiteProgram(program.name, text, program.entry, text)


def _go_over(
    arguments: argparse.Namespace, programs: list[SuiteProgram], outcomes: Outcomes, url: str
) -> None:
    with httpx.Client(base_url=url, timeout=WAIT_S + 30) as client:
        _wait_for_recording(client)

        def take(program: SuiteProgram) -> None:
            if program.name not in outcomes.by_name:
                body = program.body(arguments.timeout_s)
                if arguments.record_only:
                    body = {**body, "stop_after": "tape"}
                    if program.reference == program.source:
                        del body["reference"]  # a script makes its own inputs
                outcomes.add(_outcome(client, program.name, body))

        with ThreadPoolExecutor(AT_ONCE) as threads:
            list(threads.map(take, programs))


def _wait_for_recording(client: httpx.Client) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        toolchains = client.get("/v1/targets").json()["toolchains"]
        if any(toolchain.get("programs") for toolchain in toolchains):
            return
        time.sleep(1)
    raise SystemExit("no worker records programs; is torch in this environment?")


def _outcome(client: httpx.Client, name: str, body: dict[str, Any]) -> dict[str, Any]:
    began = time.monotonic()
    posted = client.post("/v1/programs", json=body, params={"wait": WAIT_S})
    answer = posted.json()
    while posted.is_success and answer["state"] not in FINISHED:
        answer = client.get(answer["url"], params={"wait": WAIT_S}).json()
    if not posted.is_success:
        return {"name": name, "outcome": "refused", "why": answer["detail"]}
    problem, tape = answer["problem"] or {}, answer["tape"] or {}
    return {
        "name": name,
        "outcome": answer["verdict"] or problem.get("reason") or problem.get("slug") or "recorded",
        "why": problem.get("detail") or _why(answer),
        "line": problem.get("line"),
        "flags": [flag["kind"] for flag in answer["flags"]],
        "ops": tape.get("ops"),
        "launches": tape.get("launches"),
        "bytes": tape.get("bytes"),
        "peak_bytes": answer["peak_bytes"],
        "timings_ms": answer["timings_ms"],
        "wall_s": round(time.monotonic() - began, 3),
    }


def _why(answer: dict[str, Any]) -> str | None:
    for kernel in answer["kernels"]:
        if kernel["problem"] is not None:
            return f"kernel {kernel['name']}: {kernel['problem']['detail']}"
    findings = answer["findings"] or []
    return f"{findings[0]['kind']}: {findings[0]['message']}" if findings else None


def show(suite: str, outcomes: list[dict[str, Any]]) -> None:
    """Print the results of a suite: counts, and each failure with its reason."""
    counts = Counter(outcome["outcome"] for outcome in outcomes)
    recorded = sum(outcome.get("ops") is not None for outcome in outcomes)
    launching = sum(bool(outcome.get("launches")) for outcome in outcomes)
    print(f"{suite}: {len(outcomes)} programs, {recorded} recorded, {launching} launch a kernel")
    print("\n| outcome | programs |\n|---|---|")
    for name, count in counts.most_common():
        print(f"| {name} | {count} |")
    walls = sorted(outcome["wall_s"] for outcome in outcomes if "wall_s" in outcome)
    if walls:
        p50, p95 = walls[len(walls) // 2], walls[len(walls) * 95 // 100]
        print(f"\nseconds a program: p50 {p50:.2f}, p95 {p95:.2f}, largest {walls[-1]:.1f}")
    print("\n| program | outcome | why |\n|---|---|---|")
    for outcome in outcomes:
        if outcome["outcome"] not in {"passed", "recorded"}:
            why = " ".join(str(outcome["why"] or "").split()).replace("|", "\\|")[:200]
            print(f"| {outcome['name']} | {outcome['outcome']} | {why} |")


if __name__ == "__main__":
    main()
