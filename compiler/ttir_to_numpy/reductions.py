"""Operations with a region for pairs of elements, and products of matrices."""

from collections.abc import Callable, Mapping

from compiler.ttir_to_numpy.ir import Operation, inside
from compiler.ttir_to_numpy.refusal import Untranslatable
from compiler.ttir_to_numpy.scope import Combination, NameScope, results_of

_PRECISIONS = {0: "tf32", 1: "tf32x3", 2: "ieee", 3: "bf16x3", 4: "bf16x6"}
_KINDS = {0: "e4m3", 1: "e5m2", 4: "e2m1", 5: "bf16", 6: "fp16"}
"""Element types by Triton's number; 2 and 3 have six bits, for which there is no code."""
_DECIDES = ("scf.", "cf.")


def reduction(scope: NameScope, operation: Operation, body: Combination) -> None:
    """Write `tt.reduce` or `tt.scan`, with the region as a separate function."""
    combine = _combination(scope, operation, body)
    texts = [scope.exact(operand) for operand in operation.operands]
    function = operation.name.removeprefix("tt.")
    parts = [combine, str(operation.integer("axis")), *texts]
    if function == "scan":
        is_reverse = operation.attributes.get("reverse", "false").startswith("true")
        parts.insert(2, str(is_reverse))
    text = f"{function}({', '.join(parts)})"
    scope.emit(f"{results_of(scope, operation)}{text}", operation)


def map_elementwise(scope: NameScope, operation: Operation, body: Combination) -> None:
    """Write `tl.map_elementwise`: a function of scalars, for every element or every `pack`."""
    pack = operation.integer("pack", 1)
    name = region_function(scope, operation, body)
    texts = ", ".join(scope.exact(operand) for operand in operation.operands)
    function = f"elementwise({name})" if pack == 1 else f"in_packs({name}, {pack})"
    scope.emit(f"{results_of(scope, operation)}{function}({texts})", operation)


def _combination(scope: NameScope, operation: Operation, body: Combination) -> str:
    """Return what combines two elements: a helper by its name, or a function written here."""
    block = operation.regions[0][0]
    name = _called(scope, operation) or region_function(scope, operation, body)
    decides = any(o.name.startswith(_DECIDES) for o in inside(operation)) or any(
        scope.functions.decides(o.attributes["callee"])
        for o in block.operations
        if o.name == "tt.call"
    )
    return f"elementwise({name})" if decides else name


def _called(scope: NameScope, operation: Operation) -> str | None:
    """Return the helper that the region does nothing but call, with its arguments in order."""
    block = operation.regions[0][0]
    live = [o for o in block.operations if o in scope.analysis.live]
    if len(live) != 2 or live[0].name != "tt.call":
        return None
    call, end = live
    if call.operands != block.arguments or end.operands != call.results:
        return None
    return scope.functions.name_of(call.attributes["callee"])


def region_function(scope: NameScope, operation: Operation, body: Combination) -> str:
    """Write the region as a function inside of this one, and return its name."""
    block = operation.regions[0][0]
    name = scope.fresh("combine")
    arguments = ", ".join(scope.name_for(argument) for argument in block.arguments)
    scope.emit(f"def {name}({arguments}):", operation)
    scope.depth += 1
    body(scope, operation)
    scope.depth -= 1
    return name


def dot(scope: NameScope, operation: Operation) -> None:
    """Write `tt.dot`."""
    first, second, third = operation.operands
    precision = _PRECISIONS.get(operation.integer("inputPrecision"), "ieee")
    is_fp32 = "xf32>" in first.type
    texts = [scope.exact(first), scope.exact(second), scope.typed(third).text]
    last = f', "{precision}"' if is_fp32 and precision != "ieee" else ""
    scope.emit(f"{results_of(scope, operation)}dot({', '.join(texts)}{last})", operation)


def dot_scaled(scope: NameScope, operation: Operation) -> None:
    """Write `tt.dot_scaled`: operands, accumulator, and the scales that there are."""
    first, second, third, *scales_left = operation.operands
    sizes = operation.integers("operandSegmentSizes")
    scales = [scope.exact(scales_left.pop(0)) if size else "None" for size in sizes[3:]]
    sides = ("a_elem_type", "b_elem_type")
    kinds = [repr(_KINDS.get(operation.integer(side), "")) for side in sides]
    if "''" in kinds:
        message = "tl.dot_scaled of elements of six bits"
        raise Untranslatable(message)
    flags = [operation.attributes.get(f"{side}_k_pack", "true") for side in ("lhs", "rhs")]
    packed = [str(flag.startswith("true")) for flag in flags]
    texts = [scope.exact(first), scope.exact(second), scope.exact(third)]
    texts += [f"kinds=({', '.join(kinds)})", f"scales=({', '.join(scales)})"]
    texts.append(f"packed=({', '.join(packed)})")
    scope.emit(f"{results_of(scope, operation)}dot_scaled({', '.join(texts)})", operation)


STATEMENTS: Mapping[str, Callable[[NameScope, Operation], None]] = {
    "tt.dot": dot,
    "tt.dot_scaled": dot_scaled,
}
WITH_REGIONS: Mapping[str, Callable[[NameScope, Operation, Combination], None]] = {
    "tt.reduce": reduction,
    "tt.scan": reduction,
    "tt.map_elementwise": map_elementwise,
}
