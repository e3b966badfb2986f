"""Tests the sandbox on this machine: children try to escape from it."""

from dataclasses import dataclass
from typing import Any

from worker.pool.child_outcome import Ending
from worker.pool.pool import Pool
from worker.sandbox.cgroup import Cgroup
from worker.sandbox.profile import PROFILES

_DEADLINE_S = 20.0


@dataclass(frozen=True, slots=True)
class SandboxReport:
    """The level (`strict`, `standard`, `weak`), the layers, and what the attempts showed.

    `absent` has the reason for each layer that is missing on this machine or for some children.
    """

    level: str
    layers: dict[str, Any]
    absent: dict[str, str]
    passed: int
    failed: tuple[str, ...]
    policy: str

    def to_dict(self) -> dict[str, Any]:
        """Return the form in which workers publish it."""
        return {
            "level": self.level,
            "layers": self.layers,
            "absent": self.absent,
            "self_test": {"passed": self.passed, "failed": list(self.failed)},
            "policy": self.policy,
        }


async def self_test(pool: Pool, group: Cgroup | str = "none was made") -> SandboxReport:
    """Have one child of every profile try what is forbidden; report what succeeded.

    `group` is what all children should be in, or why there is none. A level of `weak` means: take
    no jobs, unless the deployment sets that it wants no sandbox. Raises ZygoteError when no child
    can be had.
    """
    passed, failed = 0, []
    for name, profile in PROFILES.items():
        header = {
            "task": "selftest",
            "may_run_tools": profile.may_run_tools,
            "may_open": profile.may_open,
        }
        outcome = await pool.run(name, header, b"", deadline_s=_DEADLINE_S)
        if outcome.ending is not Ending.OK or outcome.result is None:
            failed.append(f"{name}: {outcome.ending} ({outcome.detail})")
            continue
        passed += int(outcome.result["passed"])
        failed += [f"{name}: {attempt}" for attempt in outcome.result["failed"]]
    facts = pool.facts
    group = facts["absent"].get("cgroup", group)
    if isinstance(group, Cgroup):
        is_in = group.holds(pool.zygote_pid or 0)
        passed += is_in
        failed += [] if is_in else [f"the zygote is not in {group.folders[0]}"]
    level, layers = _level(facts, failed), _layers(facts) | {"cgroup": _bounds(group)}
    absent = facts["absent"] | ({"cgroup": group} if isinstance(group, str) else {})
    return SandboxReport(level, layers, absent, passed, tuple(failed), facts["policy"])


def _level(facts: dict[str, Any], failed: list[str]) -> str:
    if failed or facts["unsafe"]:
        return "weak"
    return "strict" if facts["namespaces"] else "standard"


def _layers(facts: dict[str, Any]) -> dict[str, Any]:
    return {
        "seccomp": not facts["unsafe"],
        "landlock_abi": facts["landlock_abi"],
        "rlimits": True,
        "no_new_privs": True,
        "capabilities_dropped": True,
        "pid_ns": facts["namespaces"],
        "net_ns": facts["namespaces"],
        "ipc_ns": facts["namespaces"],
        **facts["optional_layers"],
    }


def _bounds(group: Cgroup | str) -> dict[str, int | None] | None:
    if isinstance(group, str):
        return None
    return {"memory_bytes": group.memory_bytes, "processes": group.processes}


@dataclass(frozen=True, slots=True)
class ToolchainContext:
    """One toolchain that a worker serves: its started pool, and the report of its self-test.

    `level` is what the worker publishes of it.
    """

    pool: Pool
    report: SandboxReport
    level: str
