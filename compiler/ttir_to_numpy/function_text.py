"""Writes one function: its operations in order, each by the writer that a form has for it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from compiler.ttir_to_numpy import mlir_types
from compiler.ttir_to_numpy.analysis import ENDS, analysis_of
from compiler.ttir_to_numpy.functions import Functions
from compiler.ttir_to_numpy.ir import IrBlock, Operation, Value
from compiler.ttir_to_numpy.refusal import Untranslatable
from compiler.ttir_to_numpy.scope import CONSTANTS, Form, Line, NameScope, NumberSpelling

_LEAVES = frozenset({"tt.return", "cf.br", "cf.cond_br"})
MAX_DEPTH = 80
"""Levels of indentation; Python's parser ends at 100."""


class Follower(Protocol):
    """Writes code that shows values while a kernel runs, right after they are made."""

    def follows(self, function: Operation) -> bool:
        """Return whether anything of `function` is shown."""

    def entered(self, scope: NameScope, block: IrBlock) -> None:
        """Write code that shows the arguments of a block."""

    def made(self, scope: NameScope, operation: Operation) -> None:
        """Write code that shows an operation's result."""


@dataclass(frozen=True)
class FunctionCodegen:
    """The settings of function texts: form, spelling of numbers, and place of operations.

    `uniform` are values that are known to be the same for all programs, by their function.
    Where there is a `follower`, every operation has a separate line.
    """

    form: Form
    spelling: NumberSpelling
    location_of: Callable[[Operation], str]
    uniform: Mapping[Operation, set[Value]] = field(default_factory=dict)
    follower: Follower | None = None


def function_text(
    operation: Operation, functions: Functions, codegen: FunctionCodegen, *, is_kernel: bool
) -> list[Line]:
    """Return the lines of a `tt.func`. Raises `Untranslatable`, with the place of the operation."""
    follower = codegen.follower
    follower = follower if follower is not None and follower.follows(operation) else None
    inlines, effects = follower is None, codegen.form.effects
    analysis = analysis_of(operation, CONSTANTS, effects, inlines=inlines)
    scope = NameScope(analysis, functions, codegen.spelling)
    scope.uniform = codegen.uniform.get(operation, set())
    blocks = operation.regions[0] if operation.regions else []
    if not blocks or not blocks[0].operations:
        message = "a function without a body"
        raise Untranslatable(message, codegen.location_of(operation))
    for block in blocks:
        if block.end.name not in _LEAVES:
            message = f"the operation {block.end.name[:80]}"
            raise Untranslatable(message, codegen.location_of(block.end))
    for index, argument in enumerate(blocks[0].arguments):
        argument.name = argument.name or f"arg{index}"
    names = [scope.name_for(argument) for argument in blocks[0].arguments]
    if is_kernel:
        kinds = [kind_of(argument.type) for argument in blocks[0].arguments]
        names = [f'{name}: "{kind}"' for name, kind in zip(names, kinds, strict=True)]
    name = functions.name_of(f"@{operation.text('sym_name')}")
    scope.lines.append(Line(0, f"def {name}({', '.join(names)}):", operation))
    codegen.form.blocks(scope, blocks, _Writer(codegen, follower).operations)
    return scope.lines


def kind_of(type_: str) -> str:
    """Return Triton's name of a parameter's type, which `launch` reads."""
    if (pointee := mlir_types.pointee_of(type_)) is not None:
        return f"*{kind_of(pointee)}"
    if (descriptor := mlir_types.descriptor_of(type_)) is not None:
        block, element = descriptor
        return f"tensordesc<{kind_of(element)}[{','.join(map(str, block))}]>"
    if type_ not in mlir_types.TRITON_NAMES:
        message = f"a parameter of type {type_[:80]}"
        raise Untranslatable(message)
    return mlir_types.TRITON_NAMES[type_]


class _Writer:
    def __init__(self, codegen: FunctionCodegen, follower: Follower | None) -> None:
        self._form, self._place_of = codegen.form, codegen.location_of
        self._follower = follower

    def operations(self, scope: NameScope, block: IrBlock) -> Operation:
        """Write the operations of a block; return its last one, which is not written."""
        if scope.depth > MAX_DEPTH:
            message = f"statements are nested more than {MAX_DEPTH} deep"
            raise Untranslatable(message)
        if self._follower is not None:
            self._follower.entered(scope, block)
        self._form.entered(scope, block)
        for operation in block.operations:
            if operation not in scope.analysis.live or operation.name in ENDS:
                continue
            lines = len(scope.lines)
            try:
                self._operation(scope, operation)
                self._form.after(scope, operation)
            except Untranslatable as refusal:
                raise refusal.at(self._place_of(operation)) from None
            if self._follower is not None and len(scope.lines) > lines:
                self._follower.made(scope, operation)
        return block.end

    def _operation(self, scope: NameScope, operation: Operation) -> None:
        name, form = operation.name, self._form
        if name in form.expressions:
            scope.define(operation, form.expressions[name](scope, operation))
        elif name in form.statements:
            form.statements[name](scope, operation)
        elif name in form.structures:
            form.structures[name](scope, operation, self.operations)
        elif name in form.with_regions:
            form.with_regions[name](scope, operation, self._combination)
        else:
            message = f"the operation {name[:80]}"
            raise Untranslatable(message)

    def _combination(self, scope: NameScope, operation: Operation) -> None:
        follower, self._follower = self._follower, None
        self._form.blocks(scope, operation.regions[0], self.operations)
        self._follower = follower
