"""Applies all layers to the calling process, in the only order that works; any failure ends it.

Order: descriptors, what needs /proc (score, limits), root, user, parent-death signal (another user
has none), dumpable, capabilities, NO_NEW_PRIVS, Landlock, seccomp last.
"""

import ctypes
import os
import signal
import struct
from collections.abc import Callable
from dataclasses import dataclass

from worker.sandbox import empty_root, landlock, libc, optional_layers, rlimits, seccomp
from worker.sandbox.optional_layers import NOTHING, OptionalLayers
from worker.sandbox.profile import SandboxProfile, file_rules

_CAPABILITY_VERSION_3 = 0x20080522
_ABOVE = 100  # descriptors kept for children live above this number


class SandboxError(Exception):
    """A layer could not be applied. The process must end without doing anything else."""

    def __init__(self, layer: str, reason: str) -> None:
        super().__init__(f"the sandbox layer {layer!r} could not be applied: {reason}")
        self.layer = layer


@dataclass(frozen=True, slots=True)
class PreparedSandbox:
    """A profile made ready before the fork: its Landlock ruleset (a descriptor) and its filter."""

    profile: SandboxProfile
    ruleset: int | None
    filter: seccomp.Filter | None
    optional: OptionalLayers = NOTHING


def prepare(profile: SandboxProfile, *, unsafe: bool) -> PreparedSandbox:
    """Build the sandbox of children of `profile`; with `unsafe` it denies no file or call.

    Raises SandboxError.
    """
    if unsafe:
        return PreparedSandbox(profile, None, None)
    try:
        target = seccomp.machine()
        built = seccomp.build(profile.calls, target, may_clone=profile.may_run_tools)
    except OSError as error:
        raise SandboxError("seccomp", str(error)) from error
    try:
        ruleset = above(landlock.build(file_rules(profile)))
    except OSError as error:
        raise SandboxError("landlock", str(error)) from error
    return PreparedSandbox(profile, ruleset, built)


def above(descriptor: int) -> int:
    """Move a descriptor above the fixed numbers of a child's own."""
    import fcntl

    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _ABOVE)
    os.close(descriptor)
    return moved


def drop_capabilities() -> None:
    """Drop every capability of this thread, irrevocably. Raises OSError."""
    header = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITY_VERSION_3, 0), 8)
    nothing = ctypes.create_string_buffer(24)
    number = seccomp.machine().number("capset")
    assert number is not None
    libc.syscall(number, header, nothing)


def enter(prepared: PreparedSandbox, parent_pid: int) -> None:
    """Sandbox this process, irrevocably.

    Descriptors are already arranged. Raises SandboxError, naming the layer.
    """
    layers: list[tuple[str, Callable[[], None]]] = [
        *_optional_layers(prepared),
        ("parent_death", lambda: libc.die_with_parent(parent_pid, signal.SIGKILL)),
        ("dumpable", lambda: libc.prctl(libc.PR_SET_DUMPABLE, 0)),
        ("capabilities", drop_capabilities),
        ("no_new_privs", lambda: libc.prctl(libc.PR_SET_NO_NEW_PRIVS, 1)),
    ]
    ruleset, chosen = prepared.ruleset, prepared.filter
    if ruleset is not None:
        layers.append(("landlock", lambda: _enter_ruleset(ruleset)))
    if chosen is not None:
        own_pid = os.getpid()
        layers.append(("seccomp", lambda: seccomp.enter(chosen, own_pid)))
    for name, layer in layers:
        try:
            layer()
        except (OSError, ValueError) as error:
            raise SandboxError(name, str(error)) from error


def _optional_layers(prepared: PreparedSandbox) -> list[tuple[str, Callable[[], None]]]:
    root, user = prepared.optional.root, prepared.optional.user
    layers: list[tuple[str, Callable[[], None]]] = []
    if prepared.optional.score:
        layers.append((optional_layers.SCORE, optional_layers.raise_score))
    layers.append(("rlimits", lambda: _enter_limits(prepared.profile, has_user=user is not None)))
    if root is not None:
        layers.append((optional_layers.ROOT, lambda: _enter_root(root)))
    if user is not None:
        layers.append((optional_layers.USER, lambda: optional_layers.become(user)))
    return layers


def _enter_limits(profile: SandboxProfile, *, has_user: bool) -> None:
    processes = None if profile.may_run_tools else 0
    if profile.may_run_tools and has_user:
        processes = optional_layers.MAX_PROCESSES
    rlimits.enter(profile.limits, processes=processes)


def _enter_root(namespace: int) -> None:
    empty_root.enter(namespace)
    os.close(namespace)


def _enter_ruleset(ruleset: int) -> None:
    landlock.enter(ruleset)
    os.close(ruleset)
