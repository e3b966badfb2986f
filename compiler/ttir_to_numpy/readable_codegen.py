"""The form of the artifact: readable, standalone, one program at a time."""

from compiler.ttir_to_numpy import (
    accesses,
    arithmetic,
    control_flow,
    mlir_types,
    reductions,
    shapes,
)
from compiler.ttir_to_numpy.blocks import write_blocks
from compiler.ttir_to_numpy.scope import Form, NumberSpelling, NumpyExpression

ARTIFACT = Form(
    expressions={**arithmetic.EXPRESSIONS, **shapes.EXPRESSIONS, **accesses.EXPRESSIONS},
    statements={
        **accesses.STATEMENTS,
        **arithmetic.STATEMENTS,
        **shapes.STATEMENTS,
        **reductions.STATEMENTS,
    },
    structures=control_flow.STATEMENTS,
    with_regions=reductions.WITH_REGIONS,
    blocks=write_blocks,
)


def _typed(text: str, type_: str) -> NumpyExpression:
    return NumpyExpression(f"{mlir_types.dtype_of(type_)}({text})")


def _full(text: str, type_: str) -> str:
    return f"np.full({mlir_types.shape_of(type_)}, {text}, {mlir_types.dtype_of(type_)})"


SPELLING = NumberSpelling(_typed, _full)
