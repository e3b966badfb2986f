"""The settings of a worker, read from the environment once, at start."""

import os
import re
import secrets
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from compiler.messages.orders import IrBounds
from jobs.logs import LogFormat, LogLevel
from launch.messages import MAX_BATCH_ELEMENTS
from store.bucket import checked_url
from store.server_url import checked_store_url


class WorkerSettings(BaseSettings):
    """Each field is the environment variable TRITOND_<NAME>."""

    model_config = SettingsConfigDict(env_prefix="TRITOND_", env_ignore_empty=True, frozen=True)

    log: LogLevel = "info"
    """The least level of the lines that are logged."""
    log_format: LogFormat = "text"
    """`json` writes each line of the log as one object."""
    slow_steps: Path | None = None
    """A folder for records of steps of the event loop that took more than 250 ms of CPU time."""
    redis_url: Annotated[str, AfterValidator(checked_store_url)] = "redis://127.0.0.1:6379/0"
    """Jobs, events, workers; must be `noeviction`."""
    cache_url: Annotated[str, AfterValidator(checked_store_url)] | None = None
    """Records and blobs; default: the same server."""
    ack_replicas: int = Field(default=0, ge=0, le=5)
    """Replicas that must have a write before it is answered, so that no failover loses it."""
    blobs_url: Annotated[str, AfterValidator(checked_url)] | None = None
    """A bucket for large blobs, such as s3://bucket/prefix; default: the cache keeps them."""
    cache_budget_bytes: int = Field(default=2 << 30, ge=1 << 20)
    """Size of records and blobs. Workers enforce it if the cache shares the jobs' server."""
    references_budget_bytes: int = Field(default=128 << 20, ge=0)
    """Size of reference outputs kept per caller, for an hour; 0 keeps none."""
    references_memory_bytes: int = Field(default=512 << 20, ge=0)
    """A worker's memory for expected outputs of all callers."""
    launch_memory_bytes: int = Field(default=2 << 30, ge=1 << 26)
    """A worker's memory for uploads and outputs of running GPU launches. Outputs of programs have
    a separate limit of the same size."""
    inputs_gpu_bytes: int | None = Field(default=None, ge=0)
    """GPU memory of each launcher for its caller's cached inputs; default: a sixteenth of the
    GPU's memory, at most 4 GiB."""
    inputs_host_bytes: int = Field(default=1 << 30, ge=0)
    """Host memory of each launcher for inputs that are too large for that."""
    toolchains: str = ""
    """Python executables of environments with other Tritons, separated by ":"."""
    share_namespaces: bool = False
    """Share the results of equal sources and TTIR between namespaces."""
    slots: int = Field(default_factory=lambda: len(os.sched_getaffinity(0)), ge=1, le=1024)
    """Jobs that run at the same time; default: one per core."""
    lease_s: float = Field(default=15, ge=1, le=600)
    """Time without a heartbeat after which a worker's jobs go to others."""
    drain_s: float = Field(default=5, ge=0, le=3600)
    """Time that jobs get after a signal to stop; then they return to the queue."""
    sandbox: Literal["required", "unsafe"] = "required"
    """`unsafe` runs jobs even if a sandbox layer fails. Never use it on a shared machine."""
    max_memory_bytes: int = Field(default=4 << 30, ge=1 << 29)
    """Address space of one back-end child, of each ptxas it starts, and of a launch's child."""
    children_memory_bytes: int | None = Field(default=None, ge=1 << 29)
    """Memory of all children together, where a cgroup can be made; default: 0.8 of the machine's.
    """
    max_ir_bytes: int = Field(default=16 << 20, ge=1)
    """IR that a child may make of a kernel, or take."""
    max_ir_operations: int = Field(default=200_000, ge=1)
    """Operations in such IR, counted by its lines."""
    max_tensor_elements: int = Field(default=1 << 20, ge=1)
    """Elements of one tensor in such IR; Triton itself refuses more than 2^20."""

    batch_elements: int = Field(default=MAX_BATCH_ELEMENTS, ge=1, le=1 << 24)
    """Elements of the largest tensor of a batch of programs that the CPU device runs at once."""

    @property
    def ir_bounds(self) -> IrBounds:
        """The bounds on IR as orders carry them."""
        return IrBounds(
            size_bytes=self.max_ir_bytes,
            operations=self.max_ir_operations,
            tensor_elements=self.max_tensor_elements,
        )

    @property
    def other_pythons(self) -> list[Path]:
        """The interpreters that `toolchains` names."""
        return [Path(written) for written in self.toolchains.split(":") if written]


def wrong_settings(error: ValidationError) -> str:
    """Return which variables cannot be used, and why; their values are not shown."""
    problems = error.errors(include_url=False, include_input=False)
    names = [f"TRITOND_{str(problem['loc'][0]).upper()}" for problem in problems]
    pairs = zip(names, problems, strict=True)
    return "; ".join(f"{name}: {_wrong_value(name, problem)}" for name, problem in pairs)


def _wrong_value(name: str, problem: Mapping[str, Any]) -> str:
    if problem["type"] == "int_parsing" and name.endswith("_BYTES"):
        return f"write a number of bytes without a unit, such as {8 << 20} for 8 MiB"
    return str(problem["msg"]).removeprefix("Value error, ")


def new_name() -> str:
    """Return a name for the worker of this process."""
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"


def is_of_this_machine(worker_id: str) -> bool:
    """Return whether a worker, or a device of one, has its process on this machine."""
    pattern = rf"{re.escape(socket.gethostname())}-\d+-[0-9a-f]{{6}}(-.*)?"
    return re.fullmatch(pattern, worker_id) is not None
