"""The run form's writers: those of the artifact's form, changed for a leading axis."""

from collections.abc import Callable, Collection, Mapping

from compiler.ttir_to_numpy import arithmetic, mlir_types
from compiler.ttir_to_numpy.batched import accesses, control_flow, promises, reductions, shapes
from compiler.ttir_to_numpy.batched.blocks import write_blocks
from compiler.ttir_to_numpy.batched.constant_list import Constants
from compiler.ttir_to_numpy.batched.undefined_values import UndefinedSources
from compiler.ttir_to_numpy.ir import Operation
from compiler.ttir_to_numpy.readable_codegen import ARTIFACT
from compiler.ttir_to_numpy.scope import Form, NameScope, NumpyExpression

NAMES = frozenset(
    {
        "BlockPointer", "Pointer", "TensorDescriptor", "assume", "atomic", "barrier", "begin_if",
        "begin_paths", "begin_while", "check", "check_descriptor", "check_extent",
        "compare_and_swap", "concatenate", "descriptor_gather", "descriptor_load",
        "descriptor_reduce", "descriptor_scatter", "descriptor_store", "dot", "elementwise",
        "enter_loop", "full", "gather", "histogram", "join", "keep", "load", "load_block", "loop",
        "map_elementwise", "map_packs", "num_programs", "numbers", "program_id", "promise",
        "reduce", "reshape", "scan", "select", "show", "step", "store", "store_block", "to_half",
        "transpose", "undefined", "unsigned_loop",
    }
)  # fmt: skip
"""The names that the text calls next to functions of numbers; its runtime has all of these."""


def run_form_with(
    constants: Constants,
    waited: accesses.Waited,
    undefined: UndefinedSources,
    marked_loops: Collection[int],
) -> Form:
    """Return the form whose constants are kept by `constants`.

    `waited` atomics order programs; the start of each of the `marked_loops` is reported.
    Operations that are `undefined` sources ask what their lanes without a value hold.
    """
    return Form(
        expressions={
            **ARTIFACT.expressions,
            **_EXPRESSIONS,
            **shapes.EXPRESSIONS,
            **shapes.constants_with(constants),
            **shapes.picking_with(undefined),
        },
        statements={**ARTIFACT.statements, **accesses.statements(waited, undefined)},
        structures=control_flow.structures(marked_loops),
        with_regions={**ARTIFACT.with_regions, **reductions.WITH_REGIONS},
        blocks=write_blocks,
        entered=promises.entered,
        after=promises.after,
        effects=ARTIFACT.effects | {accesses.ASSUMPTION, *accesses.BARRIERS},
    )


def _to_float(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return floats as floats of another type; from fp32 to fp16 without flags for each element."""
    types = (operation.operands[0].type, operation.results[0].type)
    is_nearest = operation.attributes.get("rounding") is None or operation.integer("rounding")
    if tuple(map(mlir_types.element_of, types)) == ("f32", "f16") and is_nearest:
        return scope.call(operation, "to_half({})", typed=True)
    return arithmetic.to_float(scope, operation)


_EXPRESSIONS: Mapping[str, Callable[[NameScope, Operation], NumpyExpression]] = dict.fromkeys(
    ("arith.truncf", "tt.fp_to_fp"), _to_float
)
"""Writers by the operation's name."""
