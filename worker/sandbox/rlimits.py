"""Resource limits of one child, which the kernel enforces per process."""

import resource
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ResourceLimits:
    """Limits of one child. The parent enforces the wall-clock limit from outside."""

    memory_bytes: int
    """Address space beyond what the zygote holds, memfds excluded.

    What a zygote holds differs by gigabytes with its Python, its Triton and the machine.
    """
    cpu_s: int
    file_bytes: int
    """The largest file (so, memfd) it may write."""
    open_files: int
    notice_cpu_s: int | None = None
    """CPU time after which it gets SIGXCPU, and again after each further second; None: never."""

    def to_dict(self) -> dict[str, int]:
        """Return the fields by name."""
        return asdict(self)


def address_space_bytes() -> int:
    """Return the size of this process's address space, as the kernel counts it for its limit."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def enter(limits: ResourceLimits, *, processes: int | None) -> None:
    """Lower every limit of this process, soft and hard.

    Raises OSError, or ValueError above a hard limit.

    `processes` None: as many as its user may have. The kernel counts them per user, so another
    number than 0 is for a user that has no other processes.
    """
    chosen = {
        resource.RLIMIT_AS: address_space_bytes() + limits.memory_bytes,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
    }
    if processes is not None:
        chosen[resource.RLIMIT_NPROC] = processes
    for kind, value in chosen.items():
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))
    _limit_cpu(limits)


def _limit_cpu(limits: ResourceLimits) -> None:
    """Limit the CPU time: the kernel sends SIGXCPU at the soft limit, SIGKILL at the hard one."""
    before = resource.getrlimit(resource.RLIMIT_CPU)[1]
    hard = limits.cpu_s if before == resource.RLIM_INFINITY else min(limits.cpu_s, before)
    soft = hard if limits.notice_cpu_s is None else min(limits.notice_cpu_s, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))
