"""The facts that exporting needs about a compiled kernel, read from its record.

Why a compilation cannot be exported in some format.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.abi import Abi, AbiParameter, ScratchMemory, TensorMapParameter
from compiler.export.spelling import identifier, identifiers


class NotExportable(Exception):
    """The kernel does what this format cannot hold; the message names it and what to do."""


SCRATCH = ("global_scratch", "profile_scratch")
_WITHOUT_OPT_IN_BYTES = 48 << 10
_PORTABLE_CLUSTER = 8
_ENTRY = re.compile(r"[A-Za-z_$][A-Za-z0-9_$.]{0,1023}")
"""An entry that every language can quote, and every comment hold."""
_BY_SIZE = {1: "i8", 2: "i16", 4: "i32", 8: "i64"}


@dataclass(frozen=True)
class Argument:
    """One parameter of the entry. `type` is a scalar's Triton type, such as `fp32`."""

    index: int
    name: str
    identifier: str
    kind: str
    type: str
    """Of pointers with the star; "" for tensor maps and scratch."""
    hints: tuple[str, ...]
    size_bytes: int


@dataclass(frozen=True)
class ExportedKernel:
    """A kernel as its launcher sees it."""

    facts: Mapping[str, Any]
    name: str
    """The entry as an identifier."""
    entry: str
    threads: int
    cluster: int
    shared_bytes: int
    is_cooperative: bool
    is_pdl: bool
    arguments: tuple[Argument, ...]
    scratch: Mapping[str, ScratchMemory]

    @property
    def caller_arguments(self) -> tuple[Argument, ...]:
        """The arguments that the caller gives: all but scratch."""
        return tuple(item for item in self.arguments if item.kind not in SCRATCH)

    @property
    def opts_in_to_shared(self) -> bool:
        """True if the driver must be asked for this much shared memory."""
        return self.shared_bytes > _WITHOUT_OPT_IN_BYTES

    @property
    def is_large_cluster(self) -> bool:
        """True if the cluster is larger than every GPU with clusters allows by default."""
        return self.cluster > _PORTABLE_CLUSTER

    @property
    def arch(self) -> str:
        """The compute capability, such as `90`."""
        return str(self.facts["target"]).partition(":")[2]


def kernel_of(facts: Mapping[str, Any]) -> ExportedKernel:
    """Return the kernel of a record. Raises NotExportable when it has no ABI, or an odd name."""
    if facts.get("abi") is None:
        message = "The compilation stopped before its ABI was known; compile to the last stage."
        raise NotExportable(message)
    abi = Abi.from_json(facts["abi"])
    if not _ENTRY.fullmatch(abi.entry):
        message = (
            f"The kernel's entry is called {abi.entry[:80]!a}, which is not a name in other "
            "languages: give it one of letters, digits and underscores."
        )
        raise NotExportable(message)
    names = identifiers(slot.name for slot in abi.parameters)
    types = dict(_flattened(facts["parameters"]))
    hints = {parameter["name"]: tuple(parameter["hints"]) for parameter in facts["parameters"]}
    return ExportedKernel(
        facts=facts,
        name=identifier(abi.entry),
        entry=abi.entry,
        threads=abi.block[0],
        cluster=abi.cluster[0],
        shared_bytes=abi.dynamic_shared_bytes,
        is_cooperative=abi.cooperative,
        is_pdl=abi.pdl,
        arguments=tuple(
            Argument(
                index=slot.index,
                name=slot.name,
                identifier=name,
                kind=slot.kind,
                type=_type(slot, types),
                hints=hints.get(slot.name, ()),
                size_bytes=slot.size_bytes,
            )
            for slot, name in zip(abi.parameters, names, strict=True)
        ),
        scratch={"global_scratch": abi.global_scratch, "profile_scratch": abi.profile_scratch},
    )


def _flattened(parameters: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for parameter in parameters:
        yield from _leaves(parameter["name"], parameter["type"])


def _leaves(name: str, kind: Any) -> Iterator[tuple[str, str]]:
    if isinstance(kind, (list, tuple)):
        for index, item in enumerate(kind):
            yield from _leaves(f"{name}.{index}", item)
    elif isinstance(kind, str):
        yield name, kind.partition(":")[0]


def _type(slot: AbiParameter | TensorMapParameter, types: Mapping[str, str]) -> str:
    if slot.kind == "scalar":
        # the parts of a descriptor have no type
        return types.get(slot.name, _BY_SIZE[slot.size_bytes])
    return types.get(slot.name, "*") if slot.kind == "pointer" else ""
