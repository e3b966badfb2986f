"""The start of a zygote: its orders, and its preparations before it forks the first child.

Standard library and the tasks module alone; nothing here forks, or hears of a job.
"""

import importlib
import json
import platform
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

from worker.code_digest import pipeline_digest
from worker.sandbox import cgroup, empty_root, landlock, optional_layers
from worker.sandbox.apply import PreparedSandbox, above, prepare
from worker.sandbox.profile import PROFILES, policy_digest
from worker.sandbox.rlimits import ResourceLimits

_MAX_MESSAGE_BYTES = 64 << 10
_MAX_DESCRIPTORS = 20
"""Four pipes, and the parts of a shared body."""
_CLOSE_ON_EXEC = 0x40000000  # MSG_CMSG_CLOEXEC, which Python does not name


@dataclass(frozen=True, slots=True)
class Settings:
    """The command line that a worker gives its zygote. It must never contain a secret."""

    tasks_module: str
    parent_pid: int
    unsafe: bool = False
    limits: dict[str, ResourceLimits] | None = None
    cgroup: list[str] = field(default_factory=list)
    """The entrances of the group that children shall be in."""

    def to_json(self) -> str:
        """Return the command-line form."""
        limits = {name: value.to_dict() for name, value in (self.limits or {}).items()}
        return json.dumps(
            {
                "tasks_module": self.tasks_module,
                "parent_pid": self.parent_pid,
                "unsafe": self.unsafe,
                "limits": limits,
                "cgroup": self.cgroup,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> "Settings":
        """Read the command-line form."""
        fields = json.loads(text)
        fields["limits"] = {
            name: ResourceLimits(**value) for name, value in fields["limits"].items()
        }
        return cls(**fields)


def warm_up(settings: Settings) -> tuple[ModuleType, dict[str, PreparedSandbox], dict[str, Any]]:
    """Import and warm up the tasks; return them, the sandboxes by profile, and the first message.

    Raises whatever importing the toolchain raises.
    """
    started = time.monotonic()
    tasks = importlib.import_module(settings.tasks_module)
    if not hasattr(tasks, "TASKS"):
        raise AttributeError(f"{settings.tasks_module} has no TASKS; it must name every task there")
    if hasattr(tasks, "warm_up"):
        tasks.warm_up()
    limits = settings.limits or {}
    profiles = {
        name: replace(profile, limits=limits.get(name, profile.limits))
        for name, profile in PROFILES.items()
    }
    prepared = {
        name: prepare(profile, unsafe=settings.unsafe) for name, profile in profiles.items()
    }
    facts = {
        "python": platform.python_version(),
        "policy": policy_digest(profiles),
        "pipeline": pipeline_digest(),  # last: all that children will run is loaded by now
        "landlock_abi": None if settings.unsafe else landlock.abi(),
        "unsafe": settings.unsafe,
        "libraries": tasks.libraries() if hasattr(tasks, "libraries") else {},
        "warm_ms": round((time.monotonic() - started) * 1000, 1),
    }
    return tasks, prepared, facts


def enter_cgroup(entrances: list[str]) -> dict[str, str]:
    """Enter the children's group; return why that could not be, as what is absent."""
    try:
        cgroup.enter(entrances)
    except OSError as error:
        return {"cgroup": str(error)}
    return {}


def with_optional(
    prepared: dict[str, PreparedSandbox], own_pid: int, *, isolated: bool
) -> tuple[dict[str, PreparedSandbox], dict[str, list[str]], dict[str, str]]:
    """Return `prepared` with the layers that only some machines have.

    Also which profiles have each, and why others do not.
    """
    root, why = None, "this machine allows no namespaces"
    if isolated:
        try:
            root = above(empty_root.make())
        except OSError as error:
            why = str(error)
    profiles = {name: group.profile for name, group in prepared.items()}
    made, absent = optional_layers.available(profiles, own_pid, root, why)
    layers = {
        optional_layers.SCORE: [name for name, layers in made.items() if layers.score],
        optional_layers.ROOT: [name for name, layers in made.items() if layers.root is not None],
        optional_layers.USER: [name for name, layers in made.items() if layers.user is not None],
    }
    with_optional = {name: replace(group, optional=made[name]) for name, group in prepared.items()}
    return with_optional, layers, absent


def send(control: socket.socket, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
    """Send one message. Raises OSError (BlockingIOError when the other side does not read)."""
    socket.send_fds(control, [json.dumps(message).encode()], descriptors)


def receive(control: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """Return the next message and its descriptors (close-on-exec).

    None when the other side is gone.

    Raises OSError (BlockingIOError when nothing is there).
    """
    try:
        data, descriptors, _, _ = socket.recv_fds(
            control, _MAX_MESSAGE_BYTES, _MAX_DESCRIPTORS, _CLOSE_ON_EXEC
        )
    except ConnectionResetError:
        return None, []
    return (json.loads(data) if data else None), descriptors
