"""`python -m worker`: a compile worker, until a signal ends it."""

import argparse
import asyncio
import logging
import os
import resource
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from jobs import tracing
from jobs.logs import log_as
from jobs.loop_steps import LoopSteps
from jobs.tracing import TracingMissing
from launch.request.launch_job import MAX_OUTPUT_BYTES
from store.errors import ShardedCluster, StoreUnavailable
from worker.code_digest import ROOT
from worker.composition import FEATURES
from worker.feature import ChildSettings, WorkerFeature
from worker.launch.launch_children import ENVIRONMENT, TORCH_ENVIRONMENT, Children, is_torch_here
from worker.pool.child_outcome import Caps
from worker.pool.idle_time import IdleTime
from worker.pool.pool import Outdated, Pool
from worker.pool.sandbox_report import SandboxReport, ToolchainContext, self_test
from worker.pool.zygote_client import ZygoteError, ZygoteToolchain
from worker.sandbox import cgroup
from worker.sandbox.cgroup import Cgroup
from worker.sandbox.profile import PROFILES
from worker.settings import WorkerSettings, wrong_settings
from worker.worker_process import WorkerProcess

_CHILDRENS_SHARE = 0.8
_MAX_FILES = 1 << 16
_PROCESSES, _PROCESSES_PER_SLOT = 256, 64
"""Far above what zygotes, waiting children and programs of all slots come to."""
_KEYS = frozenset({"TRITOND_ADMIN_KEY", "TRITOND_ADMIN_KEY_FILE", "TRITOND_API_KEY"})
logger = logging.getLogger("worker")


class SandboxTooWeak(Exception):
    """A layer of the sandbox does not hold here, and the settings do not allow that."""


async def serve(settings: WorkerSettings, features: Sequence[WorkerFeature]) -> None:
    """Run a worker with `features` until SIGTERM or SIGINT.

    Raises SandboxTooWeak, ZygoteError, StoreUnavailable when it cannot begin, Outdated when it
    cannot go on.
    """
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    unsafe = settings.sandbox == "unsafe"
    limits = {
        name: replace(profile.limits, memory_bytes=settings.max_memory_bytes)
        for name, profile in PROFILES.items()
    }
    group = _group(settings)
    compiling = ZygoteToolchain(
        Path(sys.executable),
        ROOT,
        unsafe=unsafe,
        cgroup=group if isinstance(group, Cgroup) else None,
        limits={"back": limits["back"]},
    )
    outdated, idle = _Outdated(stopped), IdleTime()
    launching = replace(compiling, limits=limits)
    children = _children(launching, settings, outdated, idle)
    feature_children = ChildSettings(launching, outdated, idle)
    others = [replace(compiling, python=python) for python in settings.other_pythons]
    first = _pool(compiling, settings.slots, outdated, idle)
    pools = [first, *(_pool(other, 1, outdated, idle) for other in others)]
    try:
        await asyncio.gather(*(pool.start() for pool in [*pools, *children.pools]))
        branches = [await _branch(pool, group, unsafe=unsafe) for pool in pools]
        async with WorkerProcess(
            settings, branches, children, features, feature_children
        ) as worker:
            await worker.run_until(stopped)
    finally:
        await asyncio.gather(*(pool.close() for pool in [*pools, *children.pools]))
        if isinstance(group, Cgroup):
            group.remove()
    if outdated.is_outdated:
        raise Outdated


@dataclass
class _Outdated:
    """Has the worker give its jobs back and leave, once a pool found other code on the disk."""

    stopped: asyncio.Event
    is_outdated: bool = False

    def __call__(self) -> None:
        self.is_outdated = True
        self.stopped.set()


def _pool(toolchain: ZygoteToolchain, spares: int, outdated: _Outdated, idle: IdleTime) -> Pool:
    wanted = dict.fromkeys(("parse", "front", "back"), spares)
    return Pool(toolchain, spares=wanted, on_outdated=outdated, idle=idle)


def _children(
    toolchain: ZygoteToolchain, settings: WorkerSettings, outdated: _Outdated, idle: IdleTime
) -> Children:
    # expected float64 is twice an output
    caps = Caps(result_bytes=2 * MAX_OUTPUT_BYTES + (32 << 20))
    kernels = replace(toolchain, tasks_module="launch.launch_tasks", environment=ENVIRONMENT)
    torch = replace(
        toolchain, tasks_module="launch.reference.torch_reference", environment=TORCH_ENVIRONMENT
    )
    # a launch runs its kernel and its reference at once
    spares = dict.fromkeys(("parse", "front", "back"), settings.slots)
    return Children(
        kernels=Pool(kernels, spares=spares, caps=caps, on_outdated=outdated, idle=idle),
        torch=Pool(torch, spares={"front": 1}, caps=caps, on_outdated=outdated, idle=idle)
        if is_torch_here()
        else None,
        batch_elements=settings.batch_elements,
    )


def _group(settings: WorkerSettings) -> Cgroup | str:
    """Return the group that bounds all children together, or why there is none."""
    memory_bytes = settings.children_memory_bytes
    if memory_bytes is None:
        memory_bytes = int(cgroup.machine_memory_bytes() * _CHILDRENS_SHARE)
    try:
        return cgroup.make(memory_bytes, _PROCESSES + settings.slots * _PROCESSES_PER_SLOT)
    except cgroup.NoCgroup as error:
        return str(error)


async def _branch(pool: Pool, group: Cgroup | str, *, unsafe: bool) -> ToolchainContext:
    report = await self_test(pool, group)
    check_sandbox(report, unsafe=unsafe)
    return ToolchainContext(pool, report, "unsafe" if unsafe else report.level)


def check_sandbox(report: SandboxReport, *, unsafe: bool) -> None:
    """Log what the sandbox is worth. Raises SandboxTooWeak unless `unsafe` was asked for."""
    if unsafe:
        logger.warning("TRITOND_SANDBOX=unsafe: USER CODE RUNS WITH ALL RIGHTS OF THIS PROCESS")
    elif report.level == "weak":
        raise SandboxTooWeak(
            f"the sandbox is too weak ({'; '.join(report.failed)}); this worker takes no jobs. "
            "Run where seccomp and Landlock work, or set TRITOND_SANDBOX=unsafe on a machine "
            "where every source is trusted."
        )
    else:
        logger.info("sandbox: %s, %d escape attempts were blocked", report.level, report.passed)


def _allow_files() -> None:
    """Let this process have as many descriptors as it may: each child has five, outputs one each.

    Children and launchers have separate limits.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, _MAX_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _warn_of_keys() -> None:
    """Warn of API keys in the environment: a worker runs what strangers send."""
    for name in sorted(_KEYS & os.environ.keys()):
        logger.warning("a worker needs no %s: take it out of this environment", name)


def main() -> None:
    """Run until a signal to stop. Exit status 1: the worker could not start."""
    _allow_files()
    try:
        settings = WorkerSettings()
        log_as(settings.log_format, settings.log)
        _warn_of_keys()
        tracing.start("worker")
        steps = LoopSteps(settings.slow_steps)
        if steps.is_wanted:
            steps.measure_asyncio()
        asyncio.run(serve(settings, FEATURES))
    except ValidationError as error:
        sys.exit(f"tritond worker: {wrong_settings(error)}")
    except (
        SandboxTooWeak,
        ZygoteError,
        ShardedCluster,
        StoreUnavailable,
        TracingMissing,
    ) as error:
        sys.exit(f"tritond worker: {error}")


if __name__ == "__main__":
    argparse.ArgumentParser(
        prog="python -m worker",
        description="Run a worker, as `tritond worker` does. Settings come from the environment.",
    ).parse_args()
    main()
