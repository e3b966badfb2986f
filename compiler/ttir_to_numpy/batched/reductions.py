"""Operations with a region, below a leading axis."""

from collections.abc import Callable, Mapping

from compiler.ttir_to_numpy import reductions
from compiler.ttir_to_numpy.batched.blocks import in_order
from compiler.ttir_to_numpy.ir import IrBlock, Operation
from compiler.ttir_to_numpy.refusal import Untranslatable
from compiler.ttir_to_numpy.scope import Combination, NameScope, results_of

_UFUNCS: Mapping[str, str] = {
    "arith.addf": "np.add", "arith.addi": "np.add", "arith.mulf": "np.multiply",
    "arith.muli": "np.multiply", "arith.maxnumf": "maxnum", "arith.minnumf": "minnum",
    "arith.maximumf": "maximum", "arith.minimumf": "minimum", "arith.maxsi": "np.maximum",
    "arith.minsi": "np.minimum", "arith.andi": "np.bitwise_and", "arith.ori": "np.bitwise_or",
    "arith.xori": "np.bitwise_xor",
}  # fmt: skip


def reduction(scope: NameScope, operation: Operation, body: Combination) -> None:
    """Write `tt.reduce` or `tt.scan`; a region of one operation is a function that NumPy has."""
    ufunc = _ufunc(scope, operation)
    if ufunc is None:
        reductions.reduction(scope, operation, body)
        return
    parts = [ufunc, str(operation.integer("axis")), scope.exact(operation.operands[0])]
    function = operation.name.removeprefix("tt.")
    if function == "scan":
        is_reverse = operation.attributes.get("reverse", "false").startswith("true")
        parts.insert(2, str(is_reverse))
    scope.emit(f"{results_of(scope, operation)}{function}({', '.join(parts)})", operation)


def _ufunc(scope: NameScope, operation: Operation) -> str | None:
    """Return what combines two elements where it is a single operation, of a helper, too."""
    [block, *others] = operation.regions[0]
    made = _only_operation(block)
    if made is not None and made.name == "tt.call" and not others:
        helper = scope.functions.called(made.attributes["callee"])
        made = _only_operation(helper.regions[0][0]) if helper is not None else None
    if made is None or made.results[0].type == "i1":
        return None
    return _UFUNCS.get(made.name)


def _only_operation(block: IrBlock) -> Operation | None:
    """Return the operation on a block's arguments whose result is all that the block gives."""
    if block.end.successors or len(block.end.operands) != 1:
        return None
    made = block.end.operands[0].made_by
    return made if made is not None and made.operands == block.arguments else None


def map_elementwise(scope: NameScope, operation: Operation, body: Combination) -> None:
    """Write `tl.map_elementwise`: a function of scalars, for every element of every program."""
    if in_order(operation.regions[0]) is None:
        message = "a mapped function with branches that go back"
        raise Untranslatable(message)
    pack = operation.integer("pack", 1)
    name = reductions.region_function(scope, operation, body)
    texts = ", ".join(scope.exact(operand) for operand in operation.operands)
    function = f"map_elementwise({name}" if pack == 1 else f"map_packs({name}, {pack}"
    scope.emit(f"{results_of(scope, operation)}{function}, {texts})", operation)


WITH_REGIONS: Mapping[str, Callable[[NameScope, Operation, Combination], None]] = {
    "tt.reduce": reduction,
    "tt.scan": reduction,
    "tt.map_elementwise": map_elementwise,
}
"""Writers by the operation's name."""
