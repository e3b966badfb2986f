"""Advice for front-end errors: one line for each common mistake."""

import ast
import inspect
import re

import triton.language as tl

from compiler.front.diagnosis import block_pointers, name_errors, number_errors, replacements
from compiler.front.diagnosis.advice import ADVICE
from compiler.front.diagnosis.context import Advice, Match, RaisedContext
from compiler.front.diagnosis.source_places import first_assignment
from compiler.rejection import closest

CONSTRUCTS: dict[str, tuple[str, str]] = {
    "Break": ("`break`", "Use `while` with a condition, or mask the remaining iterations."),
    "Continue": ("`continue`", "Put the rest of the loop's body under an `if`."),
    "Try": (
        "`try`",
        "A kernel has no exceptions: leave out the try and check with masks or tl.device_assert.",
    ),
    "Raise": ("`raise`", "A kernel has no exceptions: use tl.static_assert or tl.device_assert."),
    "Lambda": ("`lambda`", "Write a function with @triton.jit and call it."),
    "Dict": ("a dictionary", "Use separate variables or a tuple."),
    "DictComp": ("a dictionary", "Use separate variables or a tuple."),
    "Set": ("a set", "Use separate variables or a tuple."),
    "SetComp": ("a set", "Use separate variables or a tuple."),
    "GeneratorExp": ("a generator", "Use a loop over tl.static_range or a tuple."),
    "Import": ("`import`", "Import at the top of the file."),
    "ImportFrom": ("`import`", "Import at the top of the file."),
    "ClassDef": ("a class", "Define it outside of the kernel."),
    "AsyncFunctionDef": ("`async def`", "Write a function with @triton.jit at module level."),
    "Await": ("`await`", "Kernels are not asynchronous."),
    "Yield": ("`yield`", "Return a tuple instead."),
    "Delete": ("`del`", "Leave it out: nothing has to be freed in a kernel."),
    "Global": ("`global`", "Pass the value as a parameter and return the new one."),
    "Nonlocal": ("`nonlocal`", "Pass the value as a parameter and return the new one."),
    "Match": (
        "`match`",
        "Use `if` and `elif`; conditions on tl.constexpr values are decided at compile time.",
    ),
    "Starred": ("`*`", "Write the elements one by one."),
    "AsyncFor": ("`async for`", "Use `for i in range(...)`."),
    "TemplateStr": (
        "a template string",
        "Strings are for tl.static_print and tl.device_print only.",
    ),
}
"""Python that kernels cannot contain, by syntax node: its name, and what to write instead."""


def hint(context: RaisedContext) -> str | None:
    """Return advice for an error, or `None` if there is none better than its message."""
    for pattern, advice in _COMPUTED:
        match = re.search(pattern, context.message)
        if match is not None:
            return advice(match, context)
    return next((text for pattern, text in ADVICE if re.search(pattern, context.message)), None)


def _spelling(match: Match, _: RaisedContext) -> str:
    allowed = next(names for kind, names in _SPELLINGS.items() if kind in match[0].lower())
    meant = closest(match[1], [name for name in allowed if name])
    listed = ", ".join(f'"{name}"' for name in allowed)
    return f'Did you mean "{meant}"?' if meant else f"It is one of {listed}."


def _precision(match: Match, _: RaisedContext) -> str:
    meant = "ieee" if match[2] in {"fp32", "float32"} else closest(match[2], match[1].split("'"))
    return f'Did you mean "{meant}"?' if meant else 'Use "ieee" for full fp32, "tf32" for speed.'


def _signature(_: Match, context: RaisedContext) -> str | None:
    node = context.node
    if not isinstance(node, ast.Call):
        return None
    parameters = _parameters(node, context)
    if parameters is None:
        return None
    names = [parameter.name for parameter in parameters]
    for passed in [keyword.arg for keyword in node.keywords if keyword.arg not in names]:
        meant = closest(passed or "", names)
        if meant is not None:
            return f"Did you mean {meant!r} instead of {passed!r}?"
    shown = ", ".join(map(_shown, parameters))
    return f"It is called as {ast.unparse(node.func)}({shown})."


def _parameters(node: ast.AST, context: RaisedContext) -> list[inspect.Parameter] | None:
    """Return the valid arguments of the function that `node` calls, `None` if unknown."""
    node = node.iter if isinstance(node, ast.For) else node
    if not isinstance(node, ast.Call):
        return None
    called, before = context.value_of(node.func), 0
    if isinstance(node.func, ast.Attribute) and context.value_of(node.func.value) is None:
        # the method of a value at run time: a tensor, which is written before the dot
        called, before = getattr(tl.tensor, node.func.attr, None), 1
    if called is None:
        return None
    try:
        parameters = [*inspect.signature(getattr(called, "fn", called)).parameters.values()]
    except (TypeError, ValueError):
        return None
    return [item for item in parameters[before:] if not item.name.startswith("_")]


def _shown(parameter: inspect.Parameter) -> str:
    is_constexpr = "constexpr" in str(parameter.annotation)
    plain = parameter.replace(annotation=inspect.Parameter.empty)
    if not is_constexpr:
        return str(plain)
    default = getattr(parameter.default, "value", parameter.default)
    assigned = "" if default is inspect.Parameter.empty else f" = {default!r}"
    return f"{parameter.name}: tl.constexpr{assigned}"


def _keyword(match: Match, context: RaisedContext) -> str | None:
    parameters = _parameters(context.node, context)
    if parameters is None:
        return None
    if (gone := replacements.advice(match[1])) is not None:
        return gone
    names = [parameter.name for parameter in parameters]
    other = _OTHER_KEYWORDS.get(match[1])
    meant = other if other in names else closest(match[1], names)
    return f"Did you mean {meant!r}?" if meant else f"It takes: {', '.join(names)}."


def _carried(match: Match, context: RaisedContext) -> str:
    name, wanted = match[1], match[3]
    first = first_assignment(context.tree, name, before=getattr(context.node, "lineno", 0))
    value = getattr(first, "value", None)
    start = "0"
    if isinstance(value, (ast.Constant, ast.UnaryOp)) and context.function is not None:
        start = ast.get_source_segment(context.function.src, value) or start
    return f"Start it with the type it gets in the loop: `{name} = {_made(wanted, start)}`."


def _made(wanted: str, start: str) -> str:
    """Return an expression for a value of the type `wanted` ("fp32[64]") that starts as `start`."""
    element, _, shape = wanted.rstrip("]").partition("[")
    dtype = "tl." + {
        "fp16": "float16",
        "bf16": "bfloat16",
        "fp32": "float32",
        "fp64": "float64",
    }.get(element, element)
    extents = f"({shape},)" if shape and "," not in shape else f"({shape})"
    return f"tl.full({extents if shape else '()'}, {start}, {dtype})"


def _branch(match: Match, _: RaisedContext) -> str:
    name, wanted = match[1], match[3]
    return (
        f"Both branches of the `if` must assign the same type: start with "
        f"`{name} = {_made(wanted, '0')}`, or convert with `.to(...)`."
    )


def _construct(match: Match, _: RaisedContext) -> str | None:
    return CONSTRUCTS[match[1]][1] if match[1] in CONSTRUCTS else None


def _pointer(_: Match, context: RaisedContext) -> str:
    for name in number_errors.names_in(context.node):
        kind = context.types.get(name)
        if isinstance(kind, str) and not kind.startswith("*"):
            return f'The signature gives {name} the type "{kind}"; a pointer is written "*{kind}".'
    return 'The address is not a pointer: is it made from a parameter with a type such as "*fp32"?'


_SPELLINGS = {
    "eviction": ("evict_first", "evict_last"),
    "cache modifier": (".ca", ".cg", ".cs", ".cv", ".wb", ".wt"),
    "semantic": ("relaxed", "acquire", "release", "acq_rel"),
    "scope": ("cta", "gpu", "sys"),
    "padding": ("zero", "nan"),
    "rounding": ("rtne", "rtz"),
}

_OTHER_KEYWORDS = {
    "dim": "axis",
    "axis": "dim",
    "dims": "axis",
    "keepdim": "keep_dims",
    "keepdims": "keep_dims",
}

_COMPUTED: tuple[tuple[str, Advice], ...] = (
    (
        r"^([\w.]+) cannot be used inside a kernel",
        name_errors.of_host_function,
    ),
    (
        r"^(\w+) is not defined",
        name_errors.of_name,
    ),
    (
        r"reads the global variable '(\w+)'",
        name_errors.of_global,
    ),
    (
        r"module '([\w.]+)' has no attribute '(\w+)'",
        name_errors.of_module_attribute,
    ),
    (
        r"^'(\w+)' object has no attribute '?(\w+)'?",
        name_errors.of_object_attribute,
    ),
    (
        r"unexpected keyword argument '(\w+)'",
        _keyword,
    ),
    (
        r"missing .*required .*argument|too many positional arguments|"
        r"takes .* positional argument",
        _signature,
    ),
    (
        r"must be of type tl\.constexpr|must have type `constexpr|not a constexpr",
        number_errors.constexpr_needed,
    ),
    (
        r"cannot change total number of elements",
        number_errors.reshape,
    ),
    (
        r"equal reduction dimensions|not compatible for matmul|accumulator shape is incompatible",
        number_errors.dot,
    ),
    (
        r"^invalid operands of type (\S+) and (\S+)",
        number_errors.operand_types,
    ),
    (
        r"(?:[Ee]viction policy|[Cc]ache modifier|[Mm]emory (?:semantic|scope)|[Pp]adding option|"
        r"rounding mode:?) '?([\w.]+)",
        _spelling,
    ),
    (
        r"input_precision must be one of (\(.*\))\. Got (\w+)",
        _precision,
    ),
    (
        r"invalid axis -?\d+\. Expected -\d+ <= axis < (\d+)",
        number_errors.axis,
    ),
    (
        r"must be a power of 2",
        number_errors.power_of_two,
    ),
    (
        r"Loop-carried variable (\w+) has initial type (.+?) but is re-assigned to (.+?) in loop",
        _carried,
    ),
    (
        block_pointers.REMOVED.pattern,
        block_pointers.advice,
    ),
    (
        r"Loop carried variable (\w+) changed type, was (\w+) but is now (\w+)",
        number_errors.carried_constant,
    ),
    (
        r"Scalar (-?\d+) is out of range for type (?:tl\.)?(\w+)",
        number_errors.out_of_range,
    ),
    (
        r"Cannot bitcast data-type of size (\d+) to data-type of size (\d+)",
        number_errors.bitcast,
    ),
    (
        r"between an unsigned tensor and a negative scalar",
        number_errors.unsigned_and_negative,
    ),
    (
        r"type (\w+) not supported in this architecture\. The supported fp8 dtypes are \((.*)\)",
        number_errors.absent_type,
    ),
    (
        r"initial value for `(\w+)` is of type (.+?), but the (?:then|"
        r"else) block redefines it as (.+)$",
        _branch,
    ),
    (
        r"Mismatched type for (\w+) between then block \((.+?)\) and else block \((.+?)\)",
        _branch,
    ),
    (
        r"unsupported AST node type: (\w+)",
        _construct,
    ),
    (
        r"`(?:break|try|raise|lambda)",
        _construct,
    ),
    (
        r"Unsupported ptr type|Unsupported pointer type|base must be a pointer",
        _pointer,
    ),
)
