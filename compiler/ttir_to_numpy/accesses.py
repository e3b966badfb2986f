"""Pointers, loads, stores, atomics, descriptors; what a program asks about itself, and prints."""

from collections.abc import Callable, Mapping

from compiler.ttir_to_numpy import mlir_types
from compiler.ttir_to_numpy.ir import Operation, Value
from compiler.ttir_to_numpy.refusal import Untranslatable
from compiler.ttir_to_numpy.scope import NameScope, NumpyExpression, results_of

ATOMICS = {
    1: "and", 2: "or", 3: "xor", 4: "add", 5: "add", 6: "max", 7: "min", 8: "umax", 9: "umin",
    10: "xchg",
}  # fmt: skip
"""Atomic operations by Triton's number; 5 is the addition of floats."""
_REDUCTIONS = {
    0: "add",
    1: "add",
    2: "min",
    3: "max",
    4: "inc",
    5: "dec",
    6: "and",
    7: "or",
    8: "xor",
}


PADDED_BY_NAN = 2


def program(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return `tl.program_id` or `tl.num_programs`."""
    function = "program_id" if operation.name == "tt.get_program_id" else "num_programs"
    return NumpyExpression(f"{function}({operation.integer('axis')})")


def add_pointer(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return a pointer some elements further on."""
    return scope.operator(operation, "{} + {}")


def address(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return `tt.ptr_to_int`."""
    return scope.operator(operation, "{}.address", atom=True)


def pointer(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return `tt.int_to_ptr`."""
    pointee = mlir_types.pointee_of(operation.results[0].type) or ""
    return scope.call(operation, f"Pointer({{}}, {mlir_types.dtype_of(pointee)})", typed=True)


def make_block_pointer(scope: NameScope, operation: Operation) -> None:
    """Write `tt.make_tensor_ptr` (Triton 3.6 and 3.7): base, then sizes, strides and offsets."""
    base, *rest = operation.operands
    texts = [scope.typed(value).text for value in rest]
    rank = len(texts) // 3
    parts = [f"[{', '.join(texts[first : first + rank])}]" for first in range(0, 3 * rank, rank)]
    block = mlir_types.shape_of(mlir_types.pointee_of(operation.results[0].type) or "")
    arguments = ", ".join([scope.value(base).text, *parts, str(block)])
    scope.emit(f"{results_of(scope, operation)}BlockPointer({arguments})", operation)


def advance(scope: NameScope, operation: Operation) -> None:
    """Write `tt.advance`."""
    pointer, *steps = operation.operands
    texts = ", ".join(scope.typed(step).text for step in steps)
    text = f"{scope.value(pointer).text}.advanced([{texts}])"
    scope.emit(f"{results_of(scope, operation)}{text}", operation)


def is_of_block(operation: Operation) -> bool:
    """Return whether an access is through a block pointer."""
    pointee = mlir_types.pointee_of(operation.operands[0].type)
    return pointee is not None and mlir_types.is_tensor(pointee)


def load_block(scope: NameScope, operation: Operation) -> None:
    """Write `tt.load` through a block pointer."""
    parts = [scope.value(operation.operands[0]).text, str(operation.integers("boundaryCheck"))]
    if operation.integer("padding", 1) == PADDED_BY_NAN:
        parts.append("nan=True")
    scope.emit(f"{results_of(scope, operation)}load_block({', '.join(parts)})", operation)


def load(scope: NameScope, operation: Operation) -> None:
    """Write `tt.load`: pointer, mask and other, of which the last two may be missing."""
    if is_of_block(operation):
        load_block(scope, operation)
        return
    sizes = operation.integers("operandSegmentSizes") or [1] * len(operation.operands)
    names = [name for name, size in zip(("", "mask=", "other="), sizes, strict=False) if size]
    parts = [
        name + (kept_text(scope, operand) if name else pointer_text(scope, operand, operation))
        for name, operand in zip(names, operation.operands, strict=True)
    ]
    text = loaded_text(operation, f"load({', '.join(parts)})")
    scope.emit(f"{results_of(scope, operation)}{text}", operation)


def loaded_text(operation: Operation, text: str) -> str:
    """Return the text of a load's result: addresses of pointers are in memory."""
    pointee = mlir_types.pointee_of(operation.results[0].type)
    return text if pointee is None else f"Pointer({text}, {mlir_types.dtype_of(pointee)})"


def kept_text(scope: NameScope, value: Value) -> str:
    """Return the text of a value's content in memory: for a pointer its address."""
    if mlir_types.pointee_of(value.type) is not None:
        return f"{scope.value(value).inner}.address"
    return scope.value(value).text


def pointer_text(scope: NameScope, value: Value, operation: Operation) -> str:
    """Return a pointer's text, in the loaded tensor's full shape where the others are smaller."""
    shapes = [scope.value(operand).shape for operand in operation.operands]
    wanted = mlir_types.shape_of(value.type)
    return scope.value(value).text if wanted in shapes else scope.exact(value)


def store(scope: NameScope, operation: Operation) -> None:
    """Write `tt.store`: pointer, value, and perhaps a mask."""
    if is_of_block(operation):
        texts = [scope.exact(operand) for operand in operation.operands]
        texts.append(str(operation.integers("boundaryCheck")))
        scope.emit(f"store_block({', '.join(texts)})", operation)
        return
    first, value, *mask = operation.operands
    parts = [pointer_text(scope, first, operation), kept_text(scope, value)]
    parts += [f"mask={scope.value(operand).text}" for operand in mask]
    scope.emit(f"store({', '.join(parts)})", operation)


def atomic(scope: NameScope, operation: Operation) -> None:
    """Write `tt.atomic_rmw`. Every order holds, as programs run one after the other."""
    kind = ATOMICS[operation.integer("atomic_rmw_op")]
    place, value, *mask = operation.operands
    shape = mlir_types.shape_of(place.type)
    lanes = scope.value(mask[0]).text if mask else "True"
    parts = [repr(kind), scope.value(place).text, scope.typed(value).text, lanes, str(shape)]
    scope.emit(f"{_used(scope, operation)}atomic({', '.join(parts)})", operation)


def compare_and_swap(scope: NameScope, operation: Operation) -> None:
    """Write `tt.atomic_cas`."""
    parts = [scope.typed(operand).text for operand in operation.operands]
    shape = mlir_types.shape_of(operation.operands[0].type)
    text = f"compare_and_swap({', '.join(parts)}, {shape})"
    scope.emit(_used(scope, operation) + text, operation)


def _used(scope: NameScope, operation: Operation) -> str:
    is_used = any(result in scope.analysis.uses for result in operation.results)
    return results_of(scope, operation) if is_used else ""


def atomic_load(scope: NameScope, operation: Operation) -> None:
    """Write `tt.atomic_load`: programs run one after the other, so it is an ordinary one."""
    first, *mask = operation.operands
    parts = [pointer_text(scope, first, operation)]
    parts += [f"mask={scope.value(lanes).text}" for lanes in mask]
    scope.emit(f"{results_of(scope, operation)}load({', '.join(parts)})", operation)


def atomic_poll(scope: NameScope, operation: Operation) -> None:
    """Write `tt.atomic_poll`: pointer, expected value, and perhaps a timeout."""
    pointer, expected, *timeout = operation.operands
    parts = [scope.exact(pointer), scope.exact(expected), str(bool(timeout))]
    scope.emit(f"{results_of(scope, operation)}poll({', '.join(parts)})", operation)


def make_descriptor(scope: NameScope, operation: Operation) -> None:
    """Write `tt.make_tensor_descriptor`: base, then as many sizes as strides."""
    base, *rest = operation.operands
    known = mlir_types.descriptor_of(operation.results[0].type)
    if known is None:
        message = f"a descriptor of type {operation.results[0].type[:80]}"
        raise Untranslatable(message)
    texts = [scope.typed(value).text for value in rest]
    half = len(texts) // 2
    shape, strides = ", ".join(texts[:half]), ", ".join(texts[half:])
    is_nan = operation.integer("padding", 1) == PADDED_BY_NAN
    padding = ", nan=True" if is_nan else ""
    text = (
        f"TensorDescriptor({scope.value(base).text}, [{shape}], [{strides}], {known[0]}{padding})"
    )
    scope.emit(f"{results_of(scope, operation)}{text}", operation)


def descriptor_access(scope: NameScope, operation: Operation) -> None:
    """Write a load, store or reduction of a block, or a gather or scatter of rows."""
    texts = [scope.typed(operand).text for operand in operation.operands]
    function = operation.name.removeprefix("tt.").removeprefix("experimental_")
    match function:
        case "descriptor_load":
            shape = mlir_types.shape_of(operation.results[0].type)
            arguments = f"{texts[0]}, [{', '.join(texts[1:])}], {shape}"
        case "descriptor_store":
            value = scope.exact(operation.operands[1])
            arguments = f"{texts[0]}, {value}, [{', '.join(texts[2:])}]"
        case "descriptor_reduce":
            value = scope.exact(operation.operands[1])
            kind = _REDUCTIONS[operation.integer("kind")]
            arguments = f"{kind!r}, {texts[0]}, {value}, [{', '.join(texts[2:])}]"
        case "descriptor_gather":
            arguments = f"{', '.join(texts)}, {mlir_types.shape_of(operation.results[0].type)}"
        case _:
            value = scope.exact(operation.operands[-1])
            arguments = f"{texts[0]}, {value}, {', '.join(texts[1:-1])}"
    scope.emit(f"{results_of(scope, operation)}{function}({arguments})", operation)


def print_(scope: NameScope, operation: Operation) -> None:
    """Write `tt.print`."""
    texts = [scope.exact(operand) for operand in operation.operands]
    is_hexadecimal = operation.attributes.get("hex", "false").startswith("true")
    arguments = ", ".join([repr(operation.text("prefix")), str(is_hexadecimal), *texts])
    scope.emit(f"show({arguments})", operation)


def assert_(scope: NameScope, operation: Operation) -> None:
    """Write `tt.assert`."""
    message = operation.text("message") or operation.text("msg")
    scope.emit(f"check({scope.value(operation.operands[0]).text}, {message!r})", operation)


def nothing(scope: NameScope, operation: Operation) -> None:
    """Write nothing: programs run one after the other, so none waits for another."""


EXPRESSIONS: Mapping[str, Callable[[NameScope, Operation], NumpyExpression]] = {
    "tt.get_program_id": program,
    "tt.get_num_programs": program,
    "tt.addptr": add_pointer,
    "tt.ptr_to_int": address,
    "tt.int_to_ptr": pointer,
}
_DESCRIPTORS = ("load", "store", "reduce", "gather", "scatter")
STATEMENTS: Mapping[str, Callable[[NameScope, Operation], None]] = {
    "tt.load": load,
    "tt.store": store,
    "tt.atomic_rmw": atomic,
    "tt.atomic_cas": compare_and_swap,
    "tt.atomic_load": atomic_load,
    "tt.atomic_store": store,
    "tt.atomic_poll": atomic_poll,
    "tt.make_tensor_ptr": make_block_pointer,
    "tt.advance": advance,
    "tt.make_tensor_descriptor": make_descriptor,
    **{f"tt.descriptor_{kind}": descriptor_access for kind in _DESCRIPTORS},
    **{f"tt.experimental_descriptor_{kind}": descriptor_access for kind in _DESCRIPTORS},
    "tt.print": print_,
    "tt.assert": assert_,
    "cf.assert": assert_,
    "ttg.barrier": nothing,
    "gpu.barrier": nothing,
    "tt.grid_dependency_wait": nothing,
    "tt.grid_dependency_launch_dependents": nothing,
}
"""Writers by the operation's name."""
