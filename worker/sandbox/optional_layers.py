"""Layers that not every machine has: a separate user, an empty root, being OOM-killed first.

Each is tried at start, in a process that then ends, and left out, with the reason, where it does
not work; no worker needs one of them.
"""

import json
import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from worker.sandbox import empty_root
from worker.sandbox.profile import SandboxProfile, file_rules

SCORE, ROOT, USER = "oom_score_adj", "empty_root", "uid_per_slot"
LAYERS = (SCORE, ROOT, USER)
_DIES_FIRST = "1000"
_FIRST_USER = 1 << 30
_PIDS = 1 << 22
SLOTS = 1 << 8
"""The number of users of one zygote; more children share them."""
MAX_PROCESSES = 64
"""The limit for one of these users, where a child may start programs."""


@dataclass(frozen=True, slots=True)
class OptionalLayers:
    """The layers that children of one profile enter: namespace descriptor, user, OOM score."""

    root: int | None = None
    user: int | None = None
    score: bool = False


NOTHING = OptionalLayers()


def first_user(zygote_pid: int) -> int:
    """Return the first of `SLOTS` users that only the children of one zygote have."""
    return _FIRST_USER + (zygote_pid % _PIDS) * SLOTS


def raise_score() -> None:
    """Have the kernel kill this process first when memory runs out. Raises OSError."""
    Path("/proc/self/oom_score_adj").write_text(_DIES_FIRST, encoding="utf-8")


def become(user: int) -> None:
    """Become this user and its group, irrevocably. Raises OSError."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def available(
    profiles: Mapping[str, SandboxProfile], zygote_pid: int, root: int | None, why_no_root: str
) -> tuple[dict[str, OptionalLayers], dict[str, str]]:
    """Return the layers that children of each profile can enter, and why others do not work."""
    made: dict[str, OptionalLayers] = {}
    absent = {} if root is not None else {ROOT: why_no_root}
    user = first_user(zygote_pid) if os.geteuid() == 0 else None
    if user is None:
        absent[USER] = "the worker is not root"
    groups: dict[tuple[bool, bool], list[str]] = {}
    for name, profile in profiles.items():
        groups.setdefault((profile.may_open, profile.may_run_tools), []).append(name)
    for (may_open, _), alike in groups.items():
        wanted = OptionalLayers(None if may_open else root, user, score=True)
        works, reasons = tried(profiles[alike[0]], wanted)
        made |= dict.fromkeys(alike, works)
        for layer, reason in reasons.items():
            absent.setdefault(layer, f"{', '.join(alike)}: {reason}")
    return made, absent


def tried(profile: SandboxProfile, wanted: OptionalLayers) -> tuple[OptionalLayers, dict[str, str]]:
    """Return the layers of `wanted` that work for `profile`, and why the others do not."""
    reasons = _reasons(profile, wanted)
    works = OptionalLayers(
        None if ROOT in reasons else wanted.root,
        None if USER in reasons else wanted.user,
        wanted.score and SCORE not in reasons,
    )
    return works, reasons


def _reasons(profile: SandboxProfile, wanted: OptionalLayers) -> dict[str, str]:
    said_end, says = os.pipe()
    hold_end, hold = os.pipe()
    pid = os.fork()
    if pid == 0:
        _try_in_child(profile, wanted, says, hold_end, (said_end, hold))
    os.close(says)
    os.close(hold_end)
    with os.fdopen(said_end, "rb") as pipe:
        report = pipe.read()
    try:
        reasons: dict[str, str] = json.loads(report or "null") or dict.fromkeys(LAYERS, "it died")
        reasons.pop("", None)
        os.kill(pid, signal.SIGKILL)
    except PermissionError:
        reasons[USER] = "processes of other users could not be ended"
    finally:
        os.close(hold)  # which ends it, too
        os.waitpid(pid, 0)
    return reasons


def _try_in_child(
    profile: SandboxProfile, wanted: OptionalLayers, says: int, hold: int, others: tuple[int, int]
) -> None:
    """Enter the wanted layers, report those that failed, and wait for the end. Never returns."""
    try:
        for descriptor in others:
            os.close(descriptor)
        files = [path for path, _ in file_rules(profile)]
        reasons = {"": "it lived"}
        for name, wants, layer in (
            (SCORE, wanted.score, raise_score),
            (ROOT, wanted.root is not None, lambda: _try_root(wanted.root or 0)),
            (USER, wanted.user is not None, lambda: _try_user(wanted.user or 0, files)),
        ):
            if wants:
                _note(reasons, name, layer)
        os.write(says, json.dumps(reasons).encode())
        os.close(says)
        os.read(hold, 1)
    finally:
        os._exit(0)


def _note(reasons: dict[str, str], name: str, layer: Callable[[], None]) -> None:
    try:
        layer()
    except (OSError, OverflowError) as error:
        reasons[name] = str(error)


def _try_root(namespace: int) -> None:
    empty_root.enter(namespace)
    for path in ("/proc", "/etc/passwd"):
        if Path(path).exists():
            raise OSError(0, f"{path} is there")


def _try_user(user: int, files: list[str]) -> None:
    become(user)
    if os.getresuid() != (user, user, user):
        raise OSError(0, "it resulted in another user")
    try:
        os.setuid(0)
    except PermissionError:
        pass
    else:
        raise OSError(0, "there was a way back")
    for path in files:
        if not os.access(path, os.R_OK) or not os.access(Path(path).parent, os.X_OK):
            raise OSError(0, f"other users cannot read {path}, which compiling needs")
