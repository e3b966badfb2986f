"""Runs every suite of the Makefile that this machine can run, several at a time, and reports each.

`.ci/run` starts it. A suite that cannot run here is skipped with its reason. One that fails hides
no other: all run, then the command fails with a list. What a suite printed is in .cache/ci.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / ".cache/ci"
AT_A_TIME = 2 * (os.cpu_count() or 1)
"""Twice the cores, since many tests wait for processes that start or for deadlines."""
LIMIT_S = 3600
"""The longest that one target may take; a test ends itself long before."""
PARTS, ALL = 3, "0/1"
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
"""Without the flags of a make that runs this."""


@dataclass(frozen=True)
class Need:
    """Something that a machine has or lacks."""

    missing: str
    remedy: str
    is_here: Callable[[], bool]

    def __str__(self) -> str:
        return f"{self.missing} ({self.remedy})"


def command(*names: str, package: str) -> Need:
    """One of the commands `names`, which Debian has in `package`."""
    remedy = f"apt-get install {package}"
    return Need(f"no {names[0]} is installed here", remedy, lambda: any(map(shutil.which, names)))


def has_root() -> bool:
    """Return whether root runs this."""
    return os.geteuid() == 0


def makes_namespaces() -> bool:
    """Return whether this machine makes namespaces, which containers often may not."""
    unshared = ["unshare", "--net", "--mount", "true"]
    return subprocess.run(unshared, check=False, capture_output=True).returncode == 0


def has_free_gb(wanted_gb: int) -> bool:
    """Return whether the checkout's disk has `wanted_gb` left."""
    return shutil.disk_usage(ROOT).free >= wanted_gb << 30


ROOT_USER = Need("it needs root", "run this as root", has_root)
NAMESPACES = Need(
    "no network and mount namespaces can be made here", "use a virtual machine", makes_namespaces
)


@dataclass(frozen=True)
class Suite:
    """A target of the Makefile.

    Of a suite whose `cases` are `shared`, one run takes a third of the cases of each test that has
    more than ten, and of generated examples; if its `tests` are, a third of them (tests/shares.py).
    With `--all`, it takes all.
    """

    target: str
    needs: tuple[Need, ...] = ()
    shared: Literal["cases", "tests"] | None = None
    folders_of_slow: tuple[str, ...] = ()
    """Folders of tests/slow that it runs, with more programs: slow-others leaves them out then."""

    def lacks(self) -> Need | None:
        """Return the first need that this machine does not meet."""
        return next((need for need in self.needs if not need.is_here()), None)


def commands(*names: str) -> tuple[Need, ...]:
    """Several commands, each of Debian's package of the same name."""
    return tuple(command(name, package=name) for name in names)


CHROMIUM = command("chromium", "chromium-browser", "google-chrome", package="chromium")
PROMTOOL = command("promtool", package="--no-install-recommends prometheus")
NVCC = command("nvcc", package="nvidia-cuda-toolkit")
NODE = command("node", package="nodejs")
IP = command("ip", package="iproute2")
SYSTEMD = command("systemd-analyze", package="systemd")
SLURM = (command("slurmctld", package="slurm-wlm"), command("munged", package="munge"))
DISK = Need("the disk has no 15 GB left", "free some", lambda: has_free_gb(15))
GPU = Need("no NVIDIA GPU is here", "use a machine with one", Path("/dev/nvidiactl").exists)
SUITES = (
    Suite("test-torch", shared="cases"),
    Suite("test"),
    Suite("slow-marked", shared="cases"),
    Suite("slow-others", shared="cases"),
    Suite("test-fleet", (IP, ROOT_USER, NAMESPACES), folders_of_slow=("tests/slow/releases",)),
    Suite("test-images", (*commands("podman", "runc", "mmdebstrap"), ROOT_USER, DISK)),
    Suite("test-gpu", (GPU,)),
    Suite("test-page", (CHROMIUM,), shared="tests"),
    Suite("slow-crashes"),
    Suite("test-toolchains"),
    Suite("test-proofs"),
    Suite("test-sweeps"),
    Suite("test-programs"),
    Suite(
        "test-exports",
        (*commands("gcc", "g++", "rustc"), NVCC),
        folders_of_slow=("tests/slow/export",),
    ),
    Suite("test-adapters"),
    Suite("test-schemathesis", shared="cases"),
    Suite("test-evaluators"),
    Suite("test-servers"),
    Suite("test-blobs"),
    Suite("dist"),
    Suite("lint"),
    Suite("test-slurm", SLURM),
    Suite("test-generated-clients", (NODE, *commands("npm"))),
    Suite("test-deploy", (PROMTOOL,)),
    Suite("docs"),
    Suite("golden"),
    Suite("test-otel"),
    Suite("test-systemd", (SYSTEMD,)),
)
"""Those that take longest come first, so that none of them is left alone at the end."""


@dataclass(frozen=True)
class Step:
    """A target that is due once all targets of `after` have succeeded."""

    target: str
    after: frozenset[str]
    settings: dict[str, str]


@dataclass(frozen=True)
class Outcome:
    """The end of a step; `failure` is None if it succeeded."""

    failure: str | None
    wall_s: float
    cpu_s: float

    def __str__(self) -> str:
        return f"{self.failure or 'passed'} ({self.wall_s:.0f} s, {self.cpu_s:.0f} s of CPU time)"


class Run:
    """A target that make works on."""

    def __init__(self, target: str, settings: dict[str, str]) -> None:
        LOGS.mkdir(parents=True, exist_ok=True)
        self.log = LOGS / f"{target.strip('.').replace('/', '-')}.log"
        self._began_s = time.monotonic()
        environment = ENVIRONMENT | settings
        with self.log.open("wb") as log:
            command = ["make", "--no-print-directory", target]
            self._make = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT
            )
        self._late = False

    def outcome(self) -> Outcome | None:
        """Return how it has ended, None while it runs."""
        wall_s = time.monotonic() - self._began_s
        if wall_s > LIMIT_S and not self._late:
            self._late = True
            self._make.terminate()
        ended, status, used = os.wait4(self._make.pid, os.WNOHANG)
        if not ended:
            return None
        code = self._make.returncode = os.waitstatus_to_exitcode(status)
        failure = f"ended after {LIMIT_S} s" if self._late else f"failed with {code}"
        return Outcome(failure if code else None, wall_s, used.ru_utime + used.ru_stime)

    def end(self) -> None:
        """End it, and all that make has started for it."""
        self._make.terminate()
        self._make.wait()


def rules() -> dict[str, list[str]]:
    """Return the prerequisites of each target, as make reads the Makefile."""
    command = ["make", "--print-data-base", "--question", "help"]
    # its status is 1, since `help` would run
    printed = subprocess.run(
        command, cwd=ROOT, env=ENVIRONMENT, check=False, capture_output=True, text=True
    )
    found = re.findall(r"(?m)^([^\s:#=]+): ?(.*)$", printed.stdout)
    return {target: needed.split() for target, needed in found}


def part_of_commit() -> int:
    """Return which part of the cases this commit runs, 0 without git."""
    named = ["git", "rev-parse", "HEAD"]
    try:
        done = subprocess.run(named, cwd=ROOT, check=False, capture_output=True, text=True)
    except FileNotFoundError:
        return 0
    return int(done.stdout.strip(), 16) % PARTS if done.returncode == 0 else 0


def plan(suites: list[Suite], share: str) -> list[Step]:
    """Return the environments, each once, and the suites after their own."""
    needed = rules()
    environments = dict.fromkeys(name for suite in suites for name in needed[suite.target])
    shares = {suite.target: f"{share} {suite.shared}" for suite in suites if suite.shared}
    elsewhere = " ".join(folder for suite in suites for folder in suite.folders_of_slow)
    return [
        Step(
            name,
            frozenset(environments.keys() & needed.get(name, [])),
            {"TRITOND_TEST_SHARE": shares.get(name, ALL), "ELSEWHERE": elsewhere},
        )
        for name in (*environments, *(suite.target for suite in suites))
    ]


def run(steps: list[Step]) -> dict[str, Outcome]:
    """Run all steps, several at a time, and return their outcomes by target."""
    waiting, running, outcomes = list(steps), dict[str, Run](), dict[str, Outcome]()
    try:
        while waiting or running:
            for step in list(waiting):
                ended = [name for name in step.after if name in outcomes]
                broken = [name for name in ended if outcomes[name].failure]
                if broken:
                    outcomes[step.target] = Outcome(f"not run, since {broken[0]} failed", 0, 0)
                elif len(ended) == len(step.after) and len(running) < AT_A_TIME:
                    running[step.target] = Run(step.target, step.settings)
                else:
                    continue
                waiting.remove(step)
            time.sleep(0.2)
            for target, outcome in finished(running):
                outcomes[target] = outcome
                show(target, running.pop(target).log, outcome)
    finally:
        for each in running.values():
            each.end()
    return outcomes


def finished(running: dict[str, Run]) -> Iterator[tuple[str, Outcome]]:
    """Yield the targets that have ended."""
    for target, each in list(running.items()):
        outcome = each.outcome()
        if outcome is not None:
            yield target, outcome


def show(target: str, log: Path, outcome: Outcome) -> None:
    """Print all that the target printed."""
    print(f"==== make {target}", log.read_text(errors="replace").rstrip(), sep="\n")
    print(f"==== make {target}: {outcome}", flush=True)


def main(arguments: list[str]) -> None:
    """Run the suites; with `--all`, all their cases; with `--list`, show which would run."""
    lacking = {suite.target: need for suite in SUITES if (need := suite.lacks())}
    suites = [suite for suite in SUITES if suite.target not in lacking]
    skipped = [f"make {target}: not run: {need}" for target, need in lacking.items()]
    if arguments == ["--list"]:
        print(*(f"make {suite.target}" for suite in suites), *skipped, sep="\n")
        return
    if arguments not in ([], ["--all"]):
        sys.exit("usage: .ci/run [--all | --list]")
    share = ALL if arguments else f"{part_of_commit()}/{PARTS}"
    shared = " ".join(suite.target for suite in suites if suite.shared)
    print(f"==== TRITOND_TEST_SHARE={share} for {shared}")
    print("==== skipped", *skipped, sep="\n", flush=True)
    began_s = time.monotonic()
    outcomes = run(plan(suites, share))
    ended = [f"make {target}: {outcome}" for target, outcome in outcomes.items()]
    print("==== summary", *ended, *skipped, sep="\n")
    print(f"{len(suites)} suites in {time.monotonic() - began_s:.0f} s on {os.cpu_count()} cores")
    if failed := [target for target, outcome in outcomes.items() if outcome.failure]:
        sys.exit(f"failed: {' '.join(failed)}")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    main(sys.argv[1:])
