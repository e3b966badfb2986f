"""Facts about a kernel from its text alone: parameters, configurations, heuristics, calls.

`sure` is false where the text does not show what Triton will see in the parameters: then the facts
are only what it looks like, and `parameters` asks the function itself.
"""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from compiler.reading import constants
from compiler.reading.jit_decorator import Aliases, JitDecorator

_MAX_CONFIGS = 1000
_LANGUAGE = re.compile(r"triton\.language\.(?:core\.)?(\w+)")
_PLAIN_STRING = re.compile(r"(?:const )?\**k?(?:tl\.)?\w+ ?\**")


@dataclass(frozen=True)
class JitFunction:
    """A jit function in the text, by the name that launches it."""

    name: str
    node: ast.FunctionDef
    decorator: JitDecorator

    @cached_property
    def reads(self) -> frozenset[str]:
        """The module-level names that its body looks up."""
        nodes = [node for node in ast.walk(self.node) if isinstance(node, ast.Name)]
        own = {argument.arg for argument in ast.walk(self.node) if isinstance(argument, ast.arg)}
        own |= {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
        return frozenset(node.id for node in nodes) - own - {self.node.name}


def facts(function: JitFunction, others: Mapping[str, int], aliases: Aliases) -> dict[str, Any]:
    """Return the facts of one jit function; `others` numbers the source's jit functions."""
    above = function.node.decorator_list[: function.decorator.index]
    calls = {_callee(aliases, decorator): decorator for decorator in above}
    reads = function.reads
    configs = _configs(calls.get("autotune"), aliases)
    heuristics = _heuristics(calls.get("heuristics"))
    return {
        "name": function.name,
        "line": function.node.lineno,
        "sure": _is_sure(function, aliases),
        "parameters": [
            known | _set_at_launch(known, configs, heuristics)
            for known in _parameters(function, aliases)
        ],
        "configs": configs,
        "heuristics": heuristics,
        "calls": sorted((name for name in reads if name in others), key=others.__getitem__),
        "language": function.decorator.language,
        "gluon": function.decorator.language == "gluon",
    }


def _set_at_launch(
    parameter: dict[str, Any], configs: list[dict[str, Any]], heuristics: list[str]
) -> dict[str, Any]:
    """Return which decorator gives a parameter its value at launch, and one that it gives."""
    name = parameter["name"]
    if name in heuristics:
        return {"set_by": "heuristics", "example": None}
    known = [config["constexprs"] for config in configs if "constexprs" in config]
    values = [constexprs[name] for constexprs in known if name in constexprs]
    if values:
        return {"set_by": "autotune", "example": values[0]}
    unknown = parameter["constexpr"] and any("expression" in config for config in configs)
    return {"set_by": "perhaps_autotune" if unknown else None, "example": None}


def _callee(aliases: Aliases, decorator: ast.expr) -> str:
    name = aliases.dotted(decorator.func) if isinstance(decorator, ast.Call) else None
    return (name or "").rsplit(".", 1)[-1]


def _parameters(function: JitFunction, aliases: Aliases) -> list[dict[str, Any]]:
    arguments = function.node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: dict[str, ast.expr | None] = dict(
        zip(
            [a.arg for a in positional[len(positional) - len(arguments.defaults) :]],
            arguments.defaults,
            strict=True,
        )
    )
    defaults |= dict(zip([a.arg for a in arguments.kwonlyargs], arguments.kw_defaults, strict=True))
    named = [*positional, *([arguments.vararg] if arguments.vararg else []), *arguments.kwonlyargs]
    plain = _listed(function.decorator.keywords.get("do_not_specialize"))
    unaligned = _listed(function.decorator.keywords.get("do_not_specialize_on_alignment"))
    facts = []
    for index, argument in enumerate(named):
        annotation = _annotation(argument.annotation, aliases)
        constexpr = "constexpr" in (annotation or "")  # as Triton itself decides it
        facts.append(
            {
                "name": argument.arg,
                "line": argument.lineno,
                "column": argument.col_offset + 1,
                "annotation": annotation,
                "constexpr": constexpr,
                "default": constants.constant_json(defaults.get(argument.arg), aliases),
                "do_not_specialize": argument.arg in plain or index in plain,
                "do_not_specialize_on_alignment": argument.arg in unaligned or index in unaligned,
                "const": not constexpr and _is_const(annotation or ""),
            }
        )
    return facts


def _annotation(node: ast.expr | None, aliases: Aliases) -> str | None:
    if node is None:
        return None
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    text = ast.unparse(node)
    known = _LANGUAGE.fullmatch(constants.imported_as(node, aliases) or "")
    if known is None or text.rpartition(".")[2] == known[1]:
        return text
    return f"tl.{known[1]}"


def _is_sure(function: JitFunction, aliases: Aliases) -> bool:
    """Return whether the JIT must see the parameters as their text shows them."""
    arguments = function.node.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    annotations = [argument.annotation for argument in named if argument.annotation]
    defaults = [*arguments.defaults, *(default for default in arguments.kw_defaults if default)]
    is_text = aliases.dotted(ast.Name("annotations")) == "__future__.annotations"
    return (
        function.name == function.node.name
        and constants.is_certain(function.name, aliases)
        and _is_sure_of_decorators(function)
        and not (is_text and annotations)
        and all(_is_sure_of(annotation, aliases) for annotation in annotations)
        and all(_is_sure_of_default(default, aliases) for default in defaults)
    )


def _is_sure_of_decorators(function: JitFunction) -> bool:
    decorators = function.node.decorator_list
    last = decorators[-1]
    keywords = function.decorator.keywords
    listed = [word for name, word in keywords.items() if name.startswith("do_not_specialize")]
    unpacked = isinstance(last, ast.Call) and any(keyword.arg is None for keyword in last.keywords)
    return (
        function.decorator.index == len(decorators) - 1
        and not unpacked
        and all(_is_list_of_constants(word) for word in listed)
    )


def _is_list_of_constants(node: ast.expr) -> bool:
    if not isinstance(node, (ast.List, ast.Tuple)):
        return False
    return all(isinstance(item, ast.Constant) for item in node.elts)


def _is_sure_of(annotation: ast.expr, aliases: Aliases) -> bool:
    if isinstance(annotation, ast.Constant):
        text = annotation.value
        return isinstance(text, str) and _PLAIN_STRING.fullmatch(text) is not None
    if isinstance(annotation, ast.Call) and not annotation.keywords and len(annotation.args) == 1:
        pointer = constants.imported_as(annotation.func, aliases) or ""
        return pointer.endswith(".pointer_type") and _is_sure_of(annotation.args[0], aliases)
    name = constants.imported_as(annotation, aliases) or ""
    return name in {"int", "float", "bool"} or _LANGUAGE.fullmatch(name) is not None


def _is_sure_of_default(default: ast.expr, aliases: Aliases) -> bool:
    """Return whether a default is a value of the text, plain or wrapped by Triton's constexpr."""
    constant = constants.constant_json(default, aliases) or {}
    if constant.get("constexpr"):
        assert isinstance(default, ast.Call)
        name = constants.imported_as(default.func, aliases)
        return name in constants.CONSTEXPR and constants.is_plain(default.args[0])
    return "literal" in constant and constants.is_plain(default)


def _is_const(annotation: str) -> bool:
    return "const" in annotation or annotation.startswith("*k")


def _listed(node: ast.expr | None) -> set[object]:
    items = node.elts if isinstance(node, (ast.List, ast.Tuple)) else []
    return {item.value for item in items if isinstance(item, ast.Constant)}


def _configs(autotune: ast.expr | None, aliases: Aliases) -> list[dict[str, Any]]:
    if not isinstance(autotune, ast.Call):
        return []
    keyword = next((k.value for k in autotune.keywords if k.arg == "configs"), None)
    node = keyword or (autotune.args[0] if autotune.args else None)
    if not isinstance(node, (ast.List, ast.Tuple)):
        return [{"expression": ast.unparse(node)}] if node is not None else []
    return [_config(item, aliases) for item in node.elts[:_MAX_CONFIGS]]


def _config(node: ast.expr, aliases: Aliases) -> dict[str, Any]:
    if (
        not isinstance(node, ast.Call)
        or (aliases.dotted(node.func) or "").rsplit(".", 1)[-1] != "Config"
    ):
        return {"expression": ast.unparse(node)}
    keyword = next((k.value for k in node.keywords if k.arg == "kwargs"), None)
    mapping = node.args[0] if node.args else keyword
    constexprs = {
        name: constants.constant_json(value, aliases) for name, value in _pairs(mapping).items()
    }
    positional = dict(
        zip(("num_warps", "num_stages", "num_ctas", "maxnreg"), node.args[1:], strict=False)
    )
    options = positional | {k.arg: k.value for k in node.keywords if k.arg and k.arg != "kwargs"}
    return {
        "constexprs": constexprs,
        "options": {
            name: constants.constant_json(value, aliases) for name, value in options.items()
        },
    }


def _pairs(mapping: ast.expr | None) -> dict[str, ast.expr]:
    """Return the entries of `{"BLOCK": 64}` or `dict(BLOCK=64)` whose names are written there."""
    if isinstance(mapping, ast.Dict):
        pairs = zip(mapping.keys, mapping.values, strict=True)
        return {str(key.value): value for key, value in pairs if isinstance(key, ast.Constant)}
    if isinstance(mapping, ast.Call) and ast.unparse(mapping.func) == "dict":
        return {keyword.arg: keyword.value for keyword in mapping.keywords if keyword.arg}
    return {}


def _heuristics(decorator: ast.expr | None) -> list[str]:
    values = decorator.args[0] if isinstance(decorator, ast.Call) and decorator.args else None
    if isinstance(decorator, ast.Call) and values is None:
        values = next((k.value for k in decorator.keywords if k.arg == "values"), None)
    if not isinstance(values, ast.Dict):
        return []
    return [str(key.value) for key in values.keys if isinstance(key, ast.Constant)]
