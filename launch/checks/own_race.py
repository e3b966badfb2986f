"""Findings of accesses of one program whose order its threads do not keep."""

from dataclasses import replace

from launch.buffers.element_types import stored
from launch.checks.access import Access
from launch.checks.addresses import Slot
from launch.checks.finding import DOES, KernelLocation, finding_at, index_of, subscript
from launch.checks.own_order import OwnConflict
from launch.messages import Finding


def own_race(
    access: Access, slot: Slot, conflict: OwnConflict, location: KernelLocation
) -> Finding:
    """Return the finding of a conflict: a race, or a warning if a run of today is right."""
    leaf = slot.leaf
    index = index_of((conflict.address - slot.first) // stored(leaf.dtype).itemsize, leaf)
    element, line = subscript(leaf.name, index), conflict.other.line
    is_race = access is not Access.LOAD and not conflict.is_kept_today
    if conflict.stages is not None:
        is_race = True
        message = (
            f"program {location.program} loads {element} at line {location.line}, which line "
            f"{line} stores in the same loop, and that loop is pipelined "
            f"(num_stages={conflict.stages}): the load is issued {_rounds(conflict.stages - 1)} "
            "earlier, before the store. Give the loop num_stages=1, or use the stored value "
            "instead of loading it."
        )
    elif access is Access.LOAD:
        message = (
            f"program {location.program} reads {element} at {_position(conflict.position)}, which "
            f"line {line} wrote at {_position(conflict.other_position)}: in general, another "
            "thread wrote it. The language does not order them. Put tl.debug_barrier() between."
        )
    else:
        message = (
            f"program {location.program} {DOES[access]} {element} at "
            f"{_position(conflict.position)}, which line {line} wrote at "
            f"{_position(conflict.other_position)}: two threads of the program do so in general, "
            "and either may come last. Write each element once, for example with a mask, or put "
            "tl.debug_barrier() between."
        )
        if conflict.is_kept_today:
            message += " An operation between them orders them in what Triton compiles today."
    kind = "race" if is_race else "warning"
    found = finding_at(kind, location, message, access, leaf.name, index)
    return replace(found, scope="within_program")


def _position(lane: int) -> str:
    return "several positions" if lane < 0 else f"position {lane} of its block"


def _rounds(count: int) -> str:
    return "a round" if count == 1 else f"up to {count} rounds"
