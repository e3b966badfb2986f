"""AMD code objects: made in memory as Triton makes them, and what the assembly reports of them.

lld renames a finished file into place, which nothing permits here; to a pipe it just writes, in a
separate process, as a pipe must be read meanwhile. Opens no file.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace, TracebackType
from typing import TYPE_CHECKING, Any

from compiler.back import tool_process
from compiler.diagnostic import Failure

if TYPE_CHECKING:
    from typing import Self  # not in Python 3.10, which Triton still supports

_BYTES_PER_REGISTER = 4
_NUMBER = re.compile(r"^[ \t]*(?:- )?\.(\w+):[ \t]+(\d{1,12})$", re.MULTILINE)
_OCCUPANCY = re.compile(r"^; Occupancy: (\d{1,9})$", re.MULTILINE)
_ARGUMENT_BYTES = re.compile(r"^ {6,}(?:- )?\.size:[ \t]+(\d{1,12})$", re.MULTILINE)
_NAMES = {
    "vgpr": "vgpr_count",
    "agpr": "agpr_count",
    "sgpr": "sgpr_count",
    "vgpr_spills": "vgpr_spill_count",
    "sgpr_spills": "sgpr_spill_count",
    "stack_bytes": "private_segment_fixed_size",
    "static_shared_bytes": "group_segment_fixed_size",
}


def resources(amdgcn: str) -> dict[str, int]:
    """Return registers by kind, registers spilled, and bytes of scratch and static LDS.

    `registers` and the bytes of spills are those of a work-item, so of vector registers.
    `waves_per_simd`, where the compiler reports it, is how many waves the registers leave room for.
    """
    numbers = {name: int(value) for name, value in _NUMBER.findall(_metadata(amdgcn))}
    reported = {name: numbers.get(field, 0) for name, field in _NAMES.items()}
    if occupancy := _OCCUPANCY.search(amdgcn):
        reported["waves_per_simd"] = int(occupancy[1])
    spilled_bytes = reported["vgpr_spills"] * _BYTES_PER_REGISTER
    return reported | {
        "registers": reported["vgpr"],
        "spill_store_bytes": spilled_bytes,
        "spill_load_bytes": spilled_bytes,
    }


def parameter_sizes_bytes(amdgcn: str) -> list[int]:
    """Return the sizes of the kernel's parameters, in order."""
    arguments = _metadata(amdgcn).partition(".args:")[2].partition(".group_segment")[0]
    return [int(size) for size in _ARGUMENT_BYTES.findall(arguments)]


def _metadata(amdgcn: str) -> str:
    metadata, is_whole, _ = amdgcn.partition(".amdgpu_metadata\n")[2].partition(
        ".end_amdgpu_metadata"
    )
    return metadata if is_whole else ""


_CHUNK_BYTES = 1 << 20


def assemble(amdgcn: str, make_hsaco: Callable[..., Any], metadata: dict[str, Any]) -> bytes:
    """Return what Triton's own `make_hsaco` makes of `amdgcn`.

    Raises `Failure` (`assembler_failed`) when lld refuses, else whatever it raises.
    """
    with _no_files():
        return bytes(make_hsaco(amdgcn, metadata))


@contextmanager
def _no_files() -> Iterator[None]:
    from triton.backends.amd import compiler

    amd = {**vars(compiler.amd), "link_hsaco": _link}
    stand_ins: dict[str, Any] = {
        "tempfile": SimpleNamespace(NamedTemporaryFile=_Memory),
        "amd": SimpleNamespace(**amd),
    }
    for owner, replaced in (amd, vars(stand_ins["amd"])), (vars(compiler), stand_ins):
        if "assemble_amdgcn" in owner:  # Triton 3.9 has it in `compiler`, others in `amd`
            replaced["assemble_amdgcn"] = _reading_nothing(owner["assemble_amdgcn"])
    originals = {name: getattr(compiler, name) for name in stand_ins}
    vars(compiler).update(stand_ins)
    try:
        yield
    finally:
        vars(compiler).update(originals)


def _reading_nothing(assemble: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap LLVM's assembler: directives of inline assembly (`.incbin`, `.include`) open files."""

    def reading_nothing(*arguments: Any) -> Any:
        with tool_process.exhaust_descriptors():
            return assemble(*arguments)

    return reading_nothing


class _Memory:
    """Replaces `tempfile.NamedTemporaryFile`."""

    def __init__(self) -> None:
        self._descriptor = os.memfd_create("hsaco", 0)
        self.name = f"/proc/self/fd/{self._descriptor}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        os.close(self._descriptor)


def _link(source: str, output: str) -> None:
    """Link the object at `source` into the file at `output`, in a child of this process."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _run_lld(source, writing)
    os.close(writing)
    with open(output, "wb") as made, open(reading, "rb", buffering=0) as pipe:  # noqa: PTH123
        while data := pipe.read(_CHUNK_BYTES):
            made.write(data)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code != 0:
        how = f"died of {signal.Signals(-code).name}" if code < 0 else "refused the assembled code"
        raise Failure("assembler_failed", "hsaco", f"lld {how}")


def _run_lld(source: str, writing: int) -> None:
    from triton._C.libtriton import amd

    status = 1
    try:
        amd.link_hsaco(source, f"/proc/self/fd/{writing}")
        status = 0
    except BaseException as error:  # noqa: BLE001 - nothing may unwind into the parent's frames
        sys.stderr.write(f"{error}\n")
    finally:
        sys.stderr.flush()
        os._exit(status)
