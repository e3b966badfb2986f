"""Finds the parameters that a kernel may read and write, in its IR as MLIR read it.

It follows pointers through arithmetic, loops, branches, calls, tensor descriptors and inline
assembly, in one pass over the operations and one over the connections. Unknown operations count as
accesses: too few accesses would make live launches look dead. The IR is hostile, so the code is
linear in it.
"""

from collections.abc import Iterable, Iterator, Sequence

from compiler.ttir_to_numpy.blocks import passed
from compiler.ttir_to_numpy.ir import IrBlock, Operation, Value, unquoted
from programs.tape.kernel_effects import KernelEffects

_WRITES = frozenset({
    "tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.descriptor_store", "tt.descriptor_scatter",
    "tt.descriptor_reduce",
})  # fmt: skip
"""`tt.store %pointers, %values, %mask : tensor<64x!tt.ptr<f32>>`"""
_READS = frozenset({
    "tt.load", "tt.atomic_rmw", "tt.atomic_cas", "tt.descriptor_load", "tt.descriptor_gather",
    "tt.descriptor_reduce", "tt.print",
})  # fmt: skip
"""`%v = tt.descriptor_load %descriptor[%x, %y] : !tt.tensordesc<16x16xf32> -> tensor<16x16xf32>`

These and `_WRITES` access the first operand's memory. Their results carry no pointers.
"""
_HARMLESS = ("arith.", "math.", "scf.", "cf.", "ub.", "tt.dot", "tt.reduce", "tt.scan")
_PASSES = frozenset({
    "tt.splat", "tt.unsplat", "tt.addptr", "tt.broadcast", "tt.expand_dims", "tt.reshape",
    "tt.trans", "tt.bitcast", "tt.ptr_to_int", "tt.int_to_ptr", "tt.make_tensor_ptr", "tt.advance",
    "tt.make_tensor_descriptor", "tt.join", "tt.split", "tt.cat", "tt.gather", "tt.histogram",
    "tt.assert", "tt.make_range", "tt.get_program_id", "tt.get_num_programs", "tt.fp_to_fp",
    "tt.clampf", "tt.precise_sqrt", "tt.precise_divf", "tt.mulhiui",
})  # fmt: skip
"""Operations that access nothing: their results come from their operands."""
_BRANCHES = frozenset({"cf.br", "cf.cond_br"})
_POINTERS = ("!tt.ptr", "!tt.tensordesc")


def kernel_effects(module: Operation, parameters: Sequence[str] = ()) -> KernelEffects | None:
    """Return the effects of a kernel, None if it may do anything to any parameter.

    `parameters` are the paths of its arguments. If their number is another one, or they are not
    given, the names in the arguments' locations count.
    """
    flow = _ValueFlow(module, parameters)
    flow.read()
    reads, writes = flow.reached(flow.read_from), flow.reached(flow.written)
    if reads is None or writes is None or flow.does_anything:
        return None
    return KernelEffects(reads, writes)


class _ValueFlow:
    """The values of a module, each with the values that it, or its pointers, may come from.

    A loaded value comes from no other value.
    """

    def __init__(self, module: Operation, parameters: Sequence[str]) -> None:
        self.written: list[Value] = []
        self.read_from: list[Value] = []
        self.does_anything = False
        self._from: dict[Value, list[Value]] = {}
        self._unknown: set[Value] = set()
        self._functions = {
            operation.text("sym_name"): operation
            for operation in module.regions[0][0].operations
            if operation.name == "tt.func" and operation.regions
        }
        self._parameters: dict[Value, str] = {}
        """The paths of the kernel's pointers."""
        for function in self._functions.values():
            if function.text("sym_visibility") != "private":
                self._note_parameters(function, parameters)

    def _note_parameters(self, kernel: Operation, paths: Sequence[str]) -> None:
        arguments = kernel.regions[0][0].arguments
        if len(paths) != len(arguments):
            paths = [argument.path for argument in arguments]
        for argument, path in zip(arguments, paths, strict=True):
            if _has_pointers(argument):
                self._parameters[argument] = path

    def read(self) -> None:
        """Take in all functions."""
        for function in self._functions.values():
            for region in function.regions:
                self._read_region(region)

    def reached(self, sinks: Iterable[Value]) -> frozenset[str] | None:
        """Return the kernel's pointers that may reach any of these, None if every pointer may."""
        seen = set(sinks)
        waiting = list(seen)  # each once, however often it is accessed
        while waiting:
            for source in self._from.get(waiting.pop(), ()):
                if source not in seen:
                    seen.add(source)
                    waiting.append(source)
        if not seen.isdisjoint(self._unknown):
            return None
        paths = [path for value, path in self._parameters.items() if value in seen]
        if "" in paths:
            return None
        return frozenset(path.partition(".")[0] for path in paths)

    def _read_region(self, region: Sequence[IrBlock]) -> None:
        by_label = {block.label: block for block in region}
        for block in region:
            for operation in block.operations:
                if operation.successors:
                    self._branch(operation, by_label)
                elif operation.regions:
                    self._read_body(operation)
                elif operation.name == "tt.call":
                    self._call(operation)
                elif operation.name != "tt.return":
                    self._plain(operation)
                for inner in operation.regions:
                    self._read_region(inner)

    def _branch(self, operation: Operation, by_label: dict[str, IrBlock]) -> None:
        """Connect the values that a branch passes on: `cf.br ^bb1(%p : !tt.ptr<f32>)`."""
        for number, (label, values) in enumerate(operation.successors):
            arguments = by_label[label].arguments
            if operation.name in _BRANCHES:
                self._connect(passed(operation, number), arguments)
            else:
                self._mix([*operation.operands, *values], arguments)

    def _read_body(self, operation: Operation) -> None:
        """Connect the values of an operation with a body to those inside, and to its results."""
        match operation.name:
            case "scf.for":  # %r = scf.for %i = %a to %b step %c iter_args(%p = %first) -> (...)
                [block] = operation.regions[0]
                carried = block.arguments[1:]
                self._mix(operation.operands[:3], block.arguments[:1])
                for values in (operation.operands[3:], block.end.operands):
                    self._connect(values, carried)
                    self._connect(values, operation.results)
            case "scf.while":  # %r = scf.while (%p = %first) : (...) -> (...) { ... } do { ... }
                [before], [after] = operation.regions
                passed_on = before.end.operands[1:]  # of `scf.condition(%go) %p : !tt.ptr<f32>`
                self._connect(operation.operands, before.arguments)
                self._connect(after.end.operands, before.arguments)
                self._connect(passed_on, after.arguments)
                self._connect(passed_on, operation.results)
            case "scf.if":  # %r = scf.if %condition -> (!tt.ptr<f32>) { ... } else { ... }
                for region in operation.regions:
                    for block in region:
                        self._connect(block.end.operands, operation.results)
            case _:  # %s = "tt.reduce"(%v) <{axis = 0 : i32}> ({ ... }) : (...) -> f32
                self._plain(operation)
                ends = (block.end.operands for block in _blocks_of(operation))
                self._mix([value for end in ends for value in end], operation.results)
                arguments = [value for block in _blocks_of(operation) for value in block.arguments]
                self._mix(operation.operands, arguments)

    def _call(self, operation: Operation) -> None:
        """Connect a call: `%z = tt.call @"m.helper"(%x) : (!tt.ptr<f32>) -> !tt.ptr<f32>`."""
        callee = unquoted(operation.attributes.get("callee", "").removeprefix("@"))
        function = self._functions.get(callee)
        if function is None:
            self._unknown_operation(operation)
            return
        self._connect(operation.operands, function.regions[0][0].arguments)
        for block in function.regions[0]:
            if block.end.name == "tt.return":
                self._connect(block.end.operands, operation.results)

    def _plain(self, operation: Operation) -> None:
        name = operation.name
        if name in _WRITES or name in _READS:
            self._access(operation.operands[:1], writes=name in _WRITES, reads=name in _READS)
            self._unknown.update(filter(_has_pointers, operation.results))
        elif name in _PASSES or name.startswith(_HARMLESS):
            self._pass_on(operation)
        else:
            self._unknown_operation(operation)

    def _unknown_operation(self, operation: Operation) -> None:
        """Note that an operation may read and write the memory of all of its operands.

        One with `pure = false`, as inline assembly may have, may also find other memory.
        """
        self.does_anything |= operation.attributes.get("pure") == "false"
        self._access(operation.operands, writes=True, reads=True)
        self._pass_on(operation)

    def _access(self, pointers: Iterable[Value], *, writes: bool, reads: bool) -> None:
        for pointer in pointers:
            if writes:
                self.written.append(pointer)
            if reads:
                self.read_from.append(pointer)

    def _pass_on(self, operation: Operation) -> None:
        """Connect operands to results. A pointer that comes from no pointer may be any.

        `%p = tt.int_to_ptr %v : i64 -> !tt.ptr<f32>`
        """
        self._mix(operation.operands, operation.results)
        is_poison = operation.name.startswith("ub.")
        if not is_poison and not any(map(_has_pointers, operation.operands)):
            self._unknown.update(filter(_has_pointers, operation.results))

    def _connect(self, sources: Sequence[Value], into: Sequence[Value]) -> None:
        """Connect values one by one; lists of other lengths, of IR not known here, all to all."""
        if len(sources) != len(into):
            self._mix(sources, into)
            return
        for source, value in zip(sources, into, strict=True):
            self._from.setdefault(value, []).append(source)

    def _mix(self, sources: Iterable[Value], into: Iterable[Value]) -> None:
        """Connect all to all, through one value more: there may be many of both."""
        between = Value("")
        self._from[between] = list(sources)
        for value in into:
            self._from.setdefault(value, []).append(between)


def _blocks_of(operation: Operation) -> Iterator[IrBlock]:
    return (block for region in operation.regions for block in region)


def _has_pointers(value: Value) -> bool:
    return any(kind in value.type for kind in _POINTERS)
