"""Findings about a running kernel, with advice that a learner understands."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from compiler.lines.access_mask import AccessMask
from launch.buffers.allocation import Leaf
from launch.buffers.element_types import Array, stored
from launch.checks.access import Access, AccessForm
from launch.checks.addresses import Slot
from launch.messages import Finding

DOES = {Access.LOAD: "reads", Access.STORE: "writes", Access.ATOMIC: "atomically updates"}
UNDEFINED_VALUE = "undefined_value"
"""The warning that takes the place of `uninitialized` without `initcheck`."""
_CALL = {Access.LOAD: "tl.load", Access.STORE: "tl.store", Access.ATOMIC: "the atomic operation"}
_OPERATION = {Access.LOAD: "tt.load", Access.STORE: "tt.store", Access.ATOMIC: "tt.atomic_rmw"}
_MASKED = {
    Access.LOAD: "`tt.load %pointers, %mask : tensor<64x!tt.ptr<f32>>`",
    Access.STORE: "`tt.store %pointers, %values, %mask : tensor<64x!tt.ptr<f32>>`",
    Access.ATOMIC: "`tt.atomic_rmw fadd, acq_rel, gpu, %pointers, %values, %mask : "
    "(tensor<64x!tt.ptr<f32>>, tensor<64xf32>, tensor<64xi1>) -> tensor<64xf32>`",
}
_IR_SUFFIXES = (".ttir", ".ttgir")


@dataclass(frozen=True)
class KernelLocation:
    """A location in a kernel: the user's file, line and 1-based column, and the program."""

    file: str | None
    line: int | None
    program: tuple[int, int, int] | None
    column: int | None = None


@dataclass(frozen=True)
class Conflict:
    """Two accesses to one element without an order between them."""

    address: int
    """The address of the first conflicting lane."""
    other: KernelLocation | None
    """The location of the other access; `None`: another lane of the same store."""
    other_wrote: bool
    lanes: int
    both_atomic: bool = False
    """Both are atomic operations, at least one of them only within its program."""


class Stopped(BaseException):
    """Ends a launch at a finding. Not an `Exception`, so that no kernel can catch it.

    `bad` are the lanes of the access that are invalid, None for all.
    """

    def __init__(self, finding: Finding, bad: Array | None = None) -> None:
        super().__init__(finding.message)
        self.finding = finding
        self.bad = bad


def index_of(element: int, leaf: Leaf) -> list[int]:
    """Return the index, in the shape of an argument, of an `element` of its allocation.

    Outside the argument, the outermost index is negative or beyond the extent. If the argument is
    a view with gaps and no index fits, the result is the element number alone.
    """
    index = [0] * len(leaf.shape)
    left = element - leaf.offset
    wide = [axis for axis, extent in enumerate(leaf.shape) if extent > 1]
    axes = sorted(wide, key=lambda axis: -leaf.strides[axis]) or [len(leaf.shape) - 1]
    for position, axis in enumerate(axes):
        stride = leaf.strides[axis] if leaf.shape and leaf.shape[axis] > 1 else 1
        if stride <= 0 or not leaf.shape:
            return [element]
        index[axis], left = divmod(left, stride)
        if position and index[axis] >= leaf.shape[axis]:
            return [element]
    return [element] if left else index


def out_of_bounds(
    access: Access,
    slot: Slot,
    address: int,
    lanes: int,
    location: KernelLocation,
    *,
    form: AccessForm = AccessForm.UNMASKED,
    mask: AccessMask | None = None,
) -> Finding:
    """Return the finding that `lanes` lanes of an access are outside their argument.

    `mask` is what the kernel's IR shows of its mask, if anything.
    """
    leaf = slot.leaf
    element, start, end = _elements_at(slot, address)
    is_ir = (location.file or "").endswith(_IR_SUFFIXES)
    if form is AccessForm.DESCRIPTOR:
        advice = (
            "The tensor descriptor is larger than the tensor: give it the shape and strides of "
            f"{leaf.name}."
        )
    elif form is AccessForm.COMPARED:
        advice = (
            f"{'tt' if is_ir else 'tl'}.atomic_cas takes no mask: put it under an `if` that keeps "
            f"its offsets inside {leaf.name}."
        )
    else:
        mask = mask or AccessMask(form is AccessForm.MASKED)
        advice = (_to_mask_ir if is_ir else _to_mask)(access, mask, leaf.name)
    if element < start and form in {AccessForm.UNMASKED, AccessForm.MASKED}:
        advice = f"Offsets must not be negative: mask those lanes, or start later in {leaf.name}."
    elif element == end and lanes == 1 and mask is not None and mask.is_inclusive and not is_ir:
        advice = (
            "Its mask includes one lane too many: use < instead of <=, or correct the argument "
            f"that bounds it if that exceeds the size of {leaf.name}."
        )
    message = f"{_beyond(access, slot, address, location)}{_also(lanes)} {advice}"
    index = index_of(element, leaf)
    return finding_at("out_of_bounds", location, message, access, leaf.name, index)


def _to_mask(access: Access, mask: AccessMask, name: str) -> str:
    """Return what to write so that an access stays in the argument `name`."""
    missing = " & ".join(f"({part})" if len(mask.missing) > 1 else part for part in mask.missing)
    if mask.is_there and missing:
        return f"Its mask does not exclude this offset: add {missing}."
    if mask.is_there:
        return (
            f"Its mask does not exclude this offset: compare each offset with the size of {name}."
        )
    example = f", such as mask={missing}" if missing else ""
    offsets = " and ".join(mask.offsets) or "offsets"
    return f"Give {_CALL[access]} a mask that keeps {offsets} inside {name}{example}."


def _to_mask_ir(access: Access, mask: AccessMask, name: str) -> str:
    """Return the same for posted IR, where a mask is an operand."""
    if mask.is_there:
        return _to_mask(access, AccessMask(is_there=True), name)
    return f"Give {_OPERATION[access]} a mask that keeps offsets inside {name}: {_MASKED[access]}."


def into_other_argument(
    access: Access, slot: Slot, there: Slot, address: int, location: KernelLocation
) -> Finding:
    """Return the finding of a pointer to `slot` that was moved into the range of `there`.

    `address` is the address without wrap-around.
    """
    name = there.leaf.name
    if there is slot:
        why = f"Its byte offset overflows 64 bits, so that a GPU accesses {name} again."
    else:
        why = f"On a GPU that address is in {name}: use a pointer to {name} instead."
    message = f"{_beyond(access, slot, address, location)} {why}"
    index = index_of(_elements_at(slot, address)[0], slot.leaf)
    return finding_at("out_of_bounds", location, message, access, slot.leaf.name, index)


def _elements_at(slot: Slot, address: int) -> tuple[int, int, int]:
    """Return an address, and the argument's start and end, in elements of its allocation."""
    size = stored(slot.leaf.dtype).itemsize
    element, start, end = ((at - slot.first) // size for at in (address, *slot.reach))
    return element, start, end


def _beyond(access: Access, slot: Slot, address: int, location: KernelLocation) -> str:
    """Return the sentence that describes an access beyond an argument's elements."""
    leaf = slot.leaf
    element, start, end = _elements_at(slot, address)
    if element < start:
        where = f"{_elements(start - element)} before its start"
    else:
        where = f"{_elements(element - end + 1)} past its end"
    name = subscript(leaf.name, index_of(element, leaf))
    return f"program {location.program} {DOES[access]} {name}, {where}: {_extent(leaf)}."


def outside_arguments(
    access: Access, address: int, lanes: int, location: KernelLocation
) -> Finding:
    """Return the finding of an access to an address outside all arguments."""
    message = (
        f"program {location.program} {DOES[access]} address {address:#x}, which belongs to no "
        f"argument. Derive the pointer from an argument, and check that its offset does not "
        f"overflow."
        f"{_also(lanes)}"
    )
    return finding_at("illegal_access", location, message, access)


def misaligned(
    access: Access, slot: Slot, address: int, size: int, location: KernelLocation
) -> Finding:
    """Return the finding of an access whose offset is not a multiple of its size in bytes."""
    offset = address - slot.first
    name = slot.leaf.name
    message = (
        f"program {location.program} {DOES[access]} {size} bytes at byte {offset} of {name}, "
        f"which is not a multiple of {size}. Check casts of the pointer and offsets in bytes."
    )
    index = index_of(offset // stored(slot.leaf.dtype).itemsize, slot.leaf)
    return finding_at("misaligned_access", location, message, access, name, index)


def uninitialized(kind: str, slot: Slot, address: int, location: KernelLocation) -> Finding:
    """Return the finding of a load from uninitialized memory."""
    leaf = slot.leaf
    index = index_of((address - slot.first) // stored(leaf.dtype).itemsize, leaf)
    message = (
        f"program {location.program} reads {subscript(leaf.name, index)} before it is written. "
        f"Give {leaf.name} an `init`, or store to that element first."
    )
    return finding_at(kind, location, message, Access.LOAD, leaf.name, index)


def race(
    access: Access,
    slot: Slot,
    conflict: Conflict,
    location: KernelLocation,
    *,
    is_cuda: bool = False,
    ignored_axes: frozenset[int] = frozenset(),
) -> Finding:
    """Return the finding of a race between two programs, or two lanes of one store.

    `ignored_axes` are those of the grid that the address of this access does not depend on. Atomic
    operations of the scope `cta` are a warning on a CUDA target, which performs all atomics on
    global memory in its L2 cache.
    """
    leaf = slot.leaf
    index = index_of((conflict.address - slot.first) // stored(leaf.dtype).itemsize, leaf)
    element, other = subscript(leaf.name, index), conflict.other
    kind = "warning" if other is not None and conflict.both_atomic and is_cuda else "race"
    if other is None:
        message = _lanes_of_one_store(location, element)
    elif conflict.both_atomic:
        message = _atomics_of_cta(location, element, other, is_cuda=is_cuda)
    else:
        message = _two_programs(access, location, element, conflict, other, ignored_axes)
    race_seen = finding_at(kind, location, message, access, leaf.name, index)
    return replace(race_seen, scope="within_program" if other is None else "between_programs")


def _lanes_of_one_store(location: KernelLocation, element: str) -> str:
    return (
        f"program {location.program} writes different values to {element} in one store: "
        "several lanes have this offset, and any of them may come last. Give each lane a "
        "different element, or mask all but one."
    )


def _atomics_of_cta(
    location: KernelLocation, element: str, other: KernelLocation, *, is_cuda: bool
) -> str:
    message = (
        f"program {location.program} atomically updates {element}, and so does program "
        f"{other.program} at line {other.line}. An operation with scope='cta' is atomic within "
        "its own program only. Leave out scope, which then is 'gpu'."
    )
    if is_cuda:
        message += " GPUs of this target do not lose such updates today."
    return message


def _two_programs(
    access: Access,
    location: KernelLocation,
    element: str,
    conflict: Conflict,
    other: KernelLocation,
    ignored_axes: frozenset[int],
) -> str:
    if conflict.other_wrote and access is not Access.LOAD:
        outcome = "either write may come last"
    else:
        outcome = "the read may come before or after the write"
    does = DOES[access] if access is not Access.STORE else "writes"
    did = "writes" if conflict.other_wrote else "reads"
    is_same = (location.file, location.line) == (other.file, other.line)
    numbers = axes_apart(location.program, other.program, ignored_axes) if is_same else ""
    if numbers:
        advice = (
            f"The address does not depend on {numbers}: add what selects the program's own "
            "elements, or use atomic operations such as tl.atomic_add."
        )
    else:
        advice = (
            "Let each program write different elements, use atomic operations such as "
            "tl.atomic_add, or split the kernel into two launches."
        )
    return (
        f"program {location.program} {does} {element}, which program {other.program} {did} at line "
        f"{other.line}: programs run in any order, so {outcome}."
        f"{_also(conflict.lanes)} {advice}"
    )


def axes_apart(
    program: Sequence[int] | None, other: Sequence[int] | None, ignored: Collection[int]
) -> str:
    """Return the numbers in which two programs differ, "" if one of their axes is not `ignored`."""
    pairs = zip(program or (), other or (), strict=False)
    apart = [axis for axis, (own, others) in enumerate(pairs) if own != others]
    return "" if set(apart) - set(ignored) else " and ".join(f"tl.program_id({n})" for n in apart)


def nondeterministic(leaf: Leaf, element: int, values: tuple[str, str]) -> Finding:
    """Return the finding of an output that differs between two runs, first at `element`."""
    index = [int(position) for position in np.unravel_index(element, leaf.shape)]
    message = (
        f"{subscript(leaf.name, index)} is {values[0]} after one run and {values[1]} after a "
        "second run with equal inputs and programs in the opposite order. Make the result "
        "independent of the order of programs."
    )
    return finding_at(
        "nondeterministic", KernelLocation(None, None, None), message, None, leaf.name, index
    )


def assertion_failed(words: str, location: KernelLocation) -> Finding:
    """Return the finding of a `tl.device_assert` or `tl.assume` that does not hold."""
    return finding_at("assertion_failed", location, f"program {location.program}: {words}")


def undefined_value(kind: str, words: str, location: KernelLocation, access: bool) -> Finding:
    """Return the finding that a lane without a value changes what the kernel does."""
    message = f"program {location.program}: {words}"
    return finding_at(kind, location, message, Access.LOAD if access else None)


def false_promise(
    broken: str, access: Literal["read", "write"] | None, location: KernelLocation
) -> Finding:
    """Return the finding of a hint that does not hold; `access` is of the address it leads to."""
    effect = (
        "a GPU reads or writes several elements at once there, and faults where the address is "
        "not a multiple of their size"
        if access is not None
        else "the compiler takes one lane for its neighbours, so that a GPU uses other elements"
    )
    message = f"program {location.program}: {broken}. The compiler relies on it: {effect}. "
    message += "Remove the hint, or make it hold for every program."
    return replace(finding_at("false_promise", location, message), access=access)


def unneeded_promise(broken: str, location: KernelLocation) -> Finding:
    """Return the warning that a hint does not hold, though no vector is as long as that."""
    message = (
        f"program {location.program}: {broken}. No access of today's compiler is wide enough to "
        "rely on that, but a later one may be: use the number that holds."
    )
    return finding_at("warning", location, message)


def misaligned_descriptor(broken: str, location: KernelLocation) -> Finding:
    """Return the finding of a tensor descriptor that the hardware refuses."""
    message = (
        f"program {location.program} makes a tensor descriptor whose {broken}. The target copies "
        "blocks by TMA, which needs a base address and strides that are multiples of 16 bytes, and "
        "1 as the last stride. Pad the rows, or use pointers and masks."
    )
    return finding_at("misaligned_access", location, message)


def finding_at(
    kind: str,
    location: KernelLocation,
    message: str,
    access: Access | None = None,
    argument: str | None = None,
    index: Sequence[int] | None = None,
) -> Finding:
    """Return a finding at a location."""
    return Finding(
        kind=kind,
        access=access.direction if access is not None else None,
        argument=argument,
        index=list(index) if index is not None else None,
        file=location.file,
        line=location.line,
        column=location.column,
        program=list(location.program) if location.program is not None else None,
        message=message,
    )


def subscript(name: str, index: Sequence[int]) -> str:
    """Return the text of an element: `x_ptr[1, 2]`."""
    return f"{name}[{', '.join(map(str, index))}]"


def _elements(count: int) -> str:
    return "1 element" if count == 1 else f"{count} elements"


def _extent(leaf: Leaf) -> str:
    if len(leaf.shape) > 1:
        extent = f"its shape is {list(leaf.shape)}"
    else:
        extent = f"it has {_elements(leaf.elements)}"
    if leaf.is_contiguous:
        return extent
    ends = [(count - 1) * abs(step) for count, step in zip(leaf.shape, leaf.strides, strict=True)]
    memory = sum(ends) + 1
    return f"{extent} with strides {list(leaf.strides)}, in {_elements(memory)} of memory"


def _also(lanes: int) -> str:
    return f" {lanes} lanes of the block do so." if lanes > 1 else ""
