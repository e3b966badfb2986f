"""Loads, stores and atomics of a run form: each gets the shape of one program's tile."""

from collections.abc import Callable, Collection, Mapping

from compiler.ttir_to_numpy import accesses, mlir_types
from compiler.ttir_to_numpy.batched.undefined_values import UndefinedSources
from compiler.ttir_to_numpy.ir import Operation, Value
from compiler.ttir_to_numpy.scope import NameScope, results_of

_SEMANTICS = {1: "RELAXED", 2: "ACQUIRE", 3: "RELEASE", 4: "ACQUIRE_RELEASE"}
"""Triton's names of an atomic operation's order, by its numbers."""
_UNREAD = {"ACQUIRE": "RELAXED", "ACQUIRE_RELEASE": "RELEASE"}
"""The order that remains if nothing depends on the value that was read."""
_OF_PROGRAM = 2
"""The number of the scope `cta`."""
Waited = Collection[Operation]
"""The atomic operations whose old value decides something."""
ASSUMPTION = "llvm.intr.assume"
BARRIERS = frozenset({"ttg.barrier", "gpu.barrier"})


def load(scope: NameScope, operation: Operation, undefined: UndefinedSources) -> None:
    """Write `tt.load`: pointer, mask and other, of which the last two may be missing.

    Lanes without a value that may matter come from `undefined`.
    """
    if accesses.is_of_block(operation):
        accesses.load_block(scope, operation)
        return
    sizes = operation.integers("operandSegmentSizes") or [1] * len(operation.operands)
    texts = (accesses.kept_text(scope, operand) for operand in operation.operands)
    parts = [next(texts) if size else "None" for size in [*sizes, 0, 0][:3]]
    parts[0] = accesses.pointer_text(scope, operation.operands[0], operation)
    parts[2] = undefined.text_of(operation) or parts[2]
    shape = mlir_types.shape_of(operation.operands[0].type)
    text = accesses.loaded_text(operation, f"load({', '.join(parts)}, {shape})")
    scope.emit(f"{results_of(scope, operation)}{text}", operation)


def store(scope: NameScope, operation: Operation) -> None:
    """Write `tt.store`: pointer, value, and perhaps a mask."""
    if accesses.is_of_block(operation):
        accesses.store(scope, operation)
        return
    first, value, *mask = operation.operands
    lanes = scope.value(mask[0]).text if mask else "None"
    parts = [
        accesses.pointer_text(scope, first, operation),
        accesses.kept_text(scope, value),
        lanes,
    ]
    scope.emit(f"store({', '.join(parts)}, {mlir_types.shape_of(first.type)})", operation)


def atomic(scope: NameScope, operation: Operation, waited: Waited) -> None:
    """Write `tt.atomic_rmw`."""
    place, value, *mask = operation.operands
    lanes = scope.value(mask[0]).text if mask else "None"
    is_used = any(result in scope.analysis.uses for result in operation.results)
    parts = [
        repr(accesses.ATOMICS[operation.integer("atomic_rmw_op")]), scope.value(place).text,
        scope.typed(value).text, lanes, str(mlir_types.shape_of(place.type)), str(is_used),
        _order_of(operation, waited),
    ]  # fmt: skip
    results = results_of(scope, operation) if is_used else ""
    scope.emit(f"{results}atomic({', '.join(parts)})", operation)


def compare_and_swap(scope: NameScope, operation: Operation, waited: Waited) -> None:
    """Write `tt.atomic_cas`."""
    parts = [scope.typed(operand).text for operand in operation.operands]
    parts.append(str(mlir_types.shape_of(operation.operands[0].type)))
    parts.append(_order_of(operation, waited))
    is_used = any(result in scope.analysis.uses for result in operation.results)
    results = results_of(scope, operation) if is_used else ""
    scope.emit(f"{results}compare_and_swap({', '.join(parts)})", operation)


def atomic_store(scope: NameScope, operation: Operation, waited: Waited) -> None:
    """Write `tt.atomic_store`: an exchange whose old value is unused."""
    place, value, *mask = operation.operands
    lanes = scope.value(mask[0]).text if mask else "None"
    parts = [
        "'xchg'", scope.value(place).text, scope.typed(value).text, lanes,
        str(mlir_types.shape_of(place.type)), "False", _order_of(operation, waited),
    ]  # fmt: skip
    scope.emit(f"atomic({', '.join(parts)})", operation)


def atomic_load(scope: NameScope, operation: Operation, waited: Waited) -> None:
    """Write `tt.atomic_load`."""
    place, *mask = operation.operands
    lanes = scope.value(mask[0]).text if mask else "None"
    text = _met(scope, operation, waited, place, lanes)
    scope.emit(f"{results_of(scope, operation)}{text}", operation)


def atomic_poll(scope: NameScope, operation: Operation, waited: Waited) -> None:
    """Write `tt.atomic_poll`: without a timeout it waits as long as the launch may run."""
    place, expected, *timeout = operation.operands
    text = f"{_met(scope, operation, waited, place, 'None')} == {scope.exact(expected)}"
    [name] = [scope.name_for(result) for result in operation.results]
    if timeout:
        scope.emit(f"{name} = {text}", operation)
        return
    rounds = scope.fresh("rounds")
    scope.emit(f"{rounds} = begin_while()", operation)
    scope.emit("while True:", operation)
    with scope.loop():
        scope.depth += 1
        scope.emit(f"{name} = {text}", operation)
        scope.emit(f"if not {rounds}.go_on(~np.all({name}, keepdims=True)):", operation)
        scope.depth += 1
        scope.emit("break")
        scope.depth -= 2


def _met(scope: NameScope, operation: Operation, waited: Waited, place: Value, lanes: str) -> str:
    """Return text for the value at `place`: an atomic operation that changes no bit."""
    dtype = mlir_types.dtype_of(mlir_types.pointee_of(place.type) or "")
    shape = mlir_types.shape_of(place.type)
    width = f"np.dtype(f'i{{np.dtype({dtype}).itemsize}}')"
    pointer = f"{scope.value(place).inner}.cast({width})"
    zeros = f"np.zeros(1, {width})"
    order = _order_of(operation, waited)
    return f"bits(atomic('or', {pointer}, {zeros}, {lanes}, {shape}, True, {order}), {dtype})"


def _order_of(operation: Operation, waited: Waited) -> str:
    semantics = _SEMANTICS.get(operation.integer("sem"), "RELAXED")
    if operation not in waited:
        semantics = _UNREAD.get(semantics, semantics)
    within = ", within_program=True" if operation.integer("scope") == _OF_PROGRAM else ""
    return f"semantics={semantics!r}{within}"


def assume(scope: NameScope, operation: Operation) -> None:
    """Write `tl.assume`: what does not hold, the compiler may have built upon."""
    scope.emit(f"assume({scope.typed(operation.operands[0]).text})", operation)


def make_descriptor(scope: NameScope, operation: Operation) -> None:
    """Write `tt.make_tensor_descriptor`, and the check of the hardware's requirements."""
    accesses.make_descriptor(scope, operation)
    scope.emit(f"check_descriptor({scope.value(operation.results[0]).text})", operation)


_Write = Callable[[NameScope, Operation], None]
_WriteAtomic = Callable[[NameScope, Operation, Waited], None]


def barrier(scope: NameScope, operation: Operation) -> None:
    """Write `tl.debug_barrier`, which orders the threads of one program."""
    scope.emit("barrier()", operation)


_STATEMENTS: Mapping[str, _Write] = {
    "tt.store": store,
    ASSUMPTION: assume,
    "tt.make_tensor_descriptor": make_descriptor,
    **dict.fromkeys(BARRIERS, barrier),
}
_ATOMICS: Mapping[str, _WriteAtomic] = {
    "tt.atomic_rmw": atomic,
    "tt.atomic_cas": compare_and_swap,
    "tt.atomic_load": atomic_load,
    "tt.atomic_store": atomic_store,
    "tt.atomic_poll": atomic_poll,
}


def statements(waited: Waited, undefined: UndefinedSources) -> Mapping[str, _Write]:
    """Return writers by the operation's name; `waited` atomics order their program."""

    def write_load(scope: NameScope, operation: Operation) -> None:
        load(scope, operation, undefined)

    def writer(write: _WriteAtomic) -> _Write:
        return lambda scope, operation: write(scope, operation, waited)

    return {
        "tt.load": write_load,
        **_STATEMENTS,
        **{name: writer(write) for name, write in _ATOMICS.items()},
    }
