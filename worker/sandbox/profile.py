"""The profiles: what a child of each kind may call, reach and use.

`parse` runs no user code (sources, logs, comparisons), `front` and `record` do: none of them may
open, start or reach anything. `prove` reads IR from its own memory (proofs, effects of kernels) and
starts nothing. `back` never sees user code, but needs the toolchain's files and ptxas.
"""

import hashlib
import importlib.util
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from worker.sandbox import landlock, syscalls
from worker.sandbox.rlimits import ResourceLimits

_MIB = 1 << 20
_TOOLS = ("ptxas", "ptxas-blackwell", "nvdisasm")
_LIBRARIES = (
    "libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libgcc_s.so.1"
)  # fmt: skip
_LOADERS = ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1")


@dataclass(frozen=True, slots=True)
class SandboxProfile:
    """One kind of child: the calls it may make, whether it may start programs, and its limits."""

    name: str
    calls: frozenset[str]
    may_run_tools: bool
    limits: ResourceLimits

    @property
    def may_open(self) -> bool:
        """Return True if it may open what `file_rules` lists, and memory that it made itself."""
        return "openat" in self.calls


PROFILES: Mapping[str, SandboxProfile] = {
    profile.name: profile
    for profile in (
        SandboxProfile(
            "parse",
            syscalls.QUIET,
            may_run_tools=False,
            limits=ResourceLimits(1024 * _MIB, 60, 0, 32),
        ),
        SandboxProfile(
            "front",
            syscalls.QUIET,
            may_run_tools=False,
            limits=ResourceLimits(2048 * _MIB, 120, 0, 32, notice_cpu_s=1),
        ),
        SandboxProfile(
            "record",
            syscalls.RECORDING,
            may_run_tools=False,
            limits=ResourceLimits(2048 * _MIB, 120, 0, 32),
        ),
        SandboxProfile(
            "prove",
            syscalls.PROVING,
            may_run_tools=False,
            limits=ResourceLimits(1024 * _MIB, 300, 64 * _MIB, 64),
        ),
        SandboxProfile(
            "back",
            syscalls.TOOLING,
            may_run_tools=True,
            limits=ResourceLimits(4096 * _MIB, 600, 64 * _MIB, 64),
        ),
    )
}


def policy_digest(profiles: Mapping[str, SandboxProfile]) -> str:
    """Return the SHA-256 of everything the profiles permit.

    Equal on every machine that runs the same policy.
    """
    described = {
        name: {
            "calls": sorted(profile.calls),
            "tools": _TOOLS if profile.may_run_tools else (),
            "limits": asdict(profile.limits),
        }
        for name, profile in sorted(profiles.items())
    }
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def file_rules(profile: SandboxProfile) -> list[tuple[str, int]]:
    """Return the (path, Landlock rights) that a child of this profile may use.

    Nothing, or the toolchain's own files.
    """
    if not profile.may_run_tools:
        return []
    rules = [(str(path), landlock.RUN) for path in (*_tools(), *map(Path, _LOADERS))]
    rules += [(str(path), landlock.READ) for path in _system_libraries()]
    rules += [(str(path), landlock.READ) for path in _triton_folders()]
    rules.append(("/dev/null", landlock.READ_FILE | landlock.WRITE_FILE))
    return [(path, rights) for path, rights in rules if Path(path).exists()]


def _triton_root() -> Path | None:
    spec = importlib.util.find_spec("triton")
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def _tools() -> list[Path]:
    root = _triton_root()
    return [] if root is None else [root / "backends/nvidia/bin" / name for name in _TOOLS]


def _triton_folders() -> list[Path]:
    """Return Triton's own folder: device libraries, and the files that its cache key hashes."""
    root = _triton_root()
    return [] if root is None else [root]


def _system_libraries() -> list[Path]:
    """Return what the dynamic loader opens for ptxas: the C library's parts, where they are here.

    Not its cache, which lists what is installed: it finds them in the usual folders without.
    """
    maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    folders = {
        Path(line.split(maxsplit=5)[5]).parent
        for line in maps.splitlines()
        if line.endswith(("/libc.so.6", "/libc-2.31.so", "/libc-2.28.so"))
    }
    return [folder / name for folder in sorted(folders) for name in _LIBRARIES]
