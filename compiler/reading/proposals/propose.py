"""Decides on a type for each parameter of a kernel, with the line and the reason."""

import ast
import re
from collections.abc import Mapping
from typing import Any

from compiler.reading.facts import JitFunction
from compiler.reading.jit_decorator import Aliases
from compiler.reading.proposals.clues import (
    DTYPES,
    MAX_REASON_CHARS,
    Clue,
    Strength,
    UseClues,
    strongest,
)
from compiler.reading.proposals.constexpr_values import ConstexprValues, Found
from compiler.reading.proposals.copied_dtypes import copied_dtypes
from compiler.reading.proposals.dot_operands import OF_PARAMETER
from compiler.reading.proposals.launch_grid import launch_grid
from compiler.reading.proposals.parsed_function import ParsedFunction
from compiler.reading.proposals.uses import Uses

DEFAULT_ELEMENT = "fp32"
_NOTHING: Found = ([], 0, "", "low")
_BLOCK = 64  # of a descriptor, along its last two axes
_FLOAT_NAME = re.compile(
    r"eps|scale|alpha|beta|gamma|momentum|(^|_)lr(_|$)|weight_decay|softcap|theta|dropout|^p$|"
    r"(^|_)p_|prob|temperature|smoothing|lambda|sigma|decay|clamp|threshold|ratio|rate$",
    re.IGNORECASE,
)
_POINTER_NAME = re.compile(r"(^|_)ptrs?(_|$)|ptr$|pointer", re.IGNORECASE)
_KINDS = {"int": "i32", "bool": "i1"}
_ANNOTATED = {"int": "i32", "float": "fp32", "bool": "i1"} | DTYPES


class Proposals:
    """The proposals for the kernels of one source; `helpers` are imported from posted files."""

    def __init__(
        self,
        tree: ast.Module,
        functions: list[JitFunction],
        aliases: Aliases,
        helpers: Mapping[str, tuple[ast.FunctionDef, Aliases]],
    ) -> None:
        self._texts = {f.name: ParsedFunction(f.node, aliases) for f in functions}
        known = {name: ParsedFunction(*helper) for name, helper in helpers.items()}
        self._uses = Uses(known | self._texts)
        self._aliases = aliases
        self._values = ConstexprValues(tree, aliases, known | self._texts)
        parameters = {name: [*text.parameters] for name, text in self._texts.items()}
        self._copied = copied_dtypes(tree, parameters)

    def add_to(self, facts: dict[str, Any]) -> None:
        """Give each parameter of a kernel's facts its `proposal`, and the kernel its `grid`."""
        function = self._texts[facts["name"]]
        facts["grid"] = launch_grid(function)
        evidence = self._uses.of(facts["name"])
        pointers = {name for name, clues in evidence.items() if clues.pointer}
        known = self._values.of(facts, function, pointers)
        tiles = sum(
            bool(clues.shape) and not clues.pointer and known.get(name, _NOTHING)[3] == "low"
            for name, clues in evidence.items()
        )
        for parameter in facts["parameters"]:
            clues = evidence.get(parameter["name"])
            parameter["proposal"] = (
                None if clues is None else self._proposal(parameter, known, clues, tiles)
            )
        self._copy_dtypes(facts, evidence)

    def _copy_dtypes(self, facts: dict[str, Any], evidence: Mapping[str, UseClues]) -> None:
        """Give pointers the elements that host code copies to them, unless the kernel is sure."""
        proposals = {p["name"]: p["proposal"] for p in facts["parameters"]}
        for name, proposal in proposals.items():
            copied = self._copied.get((facts["name"], name))
            element = strongest(evidence[name].element) if name in evidence else None
            is_sure = element is not None and element.strength >= Strength.STRONG
            if copied is None or not _is_pointer(proposal) or is_sure:
                continue
            source = proposals[copied.parameter]
            if _is_pointer(source):
                reason = (
                    f"{proposal['reason'].partition('; ')[0]}; for the launch on line "
                    f"{copied.line} it is made with the dtype of {copied.parameter}"
                )
                proposal["dtype_of"] = copied.parameter
                proposal["type"] = f"*{source['type'].lstrip('*').removeprefix('k')}"
                proposal["reason"] = reason[:MAX_REASON_CHARS]

    def warnings(self, facts: dict[str, Any]) -> list[str]:
        """Return a warning for each parameter that is used as a constant and not annotated."""
        made = []
        evidence = self._uses.of(facts["name"])
        for parameter in facts["parameters"]:
            name, clues = parameter["name"], evidence.get(parameter["name"])
            shape = strongest(clues.shape) if clues is not None and not clues.pointer else None
            if shape is not None and parameter["annotation"] is None:
                made.append(
                    f"{name} is used as a constant on line {shape.line} ({shape.reason}) but is "
                    f"not annotated: write `{name}: tl.constexpr`"
                )
        return [warning[:MAX_REASON_CHARS] for warning in made]

    def _proposal(
        self, parameter: dict[str, Any], known: dict[str, Any], clues: UseClues, tiles: int
    ) -> dict[str, Any] | None:
        name = parameter["name"]
        is_set = parameter["set_by"] in {"heuristics", "autotune"}
        shape = strongest(clues.shape)
        if parameter["constexpr"] or is_set or (shape is not None and not clues.pointer):
            return self._values.proposal(parameter, known, shape, tiles)
        if (typed := _annotated(parameter)) is not None:
            return typed
        if clues.axes and not clues.pointer:
            return _descriptor(clues, known)
        if clues.pointer:
            return _pointer(parameter, clues)
        if _POINTER_NAME.search(name) and not clues.scalar and parameter["default"] is None:
            clue = Clue("", parameter["line"], "only its name suggests that it is a pointer")
            return _proposed(f"*{DEFAULT_ELEMENT}", clue, "low", ["divisible_by_16"])
        return _scalar(parameter, clues)


def _is_pointer(proposal: dict[str, Any] | None) -> bool:
    return proposal is not None and proposal["type"].startswith("*")


def _annotated(parameter: dict[str, Any]) -> dict[str, Any] | None:
    text = (parameter["annotation"] or "").strip()
    is_pointer = text.startswith("*") or "pointer_type(" in text
    inner = text.rpartition("pointer_type(")[2].rstrip(")") if "(" in text else text
    word = inner.replace("const ", "").strip("* ").rpartition(".")[2]
    dtype = _ANNOTATED.get(word.removesuffix("_t"), word if word in DTYPES.values() else None)
    if dtype is None:
        return None
    reason = f"is annotated {text}"
    kind = f"*{dtype}" if is_pointer else dtype
    hints = ["divisible_by_16"] if is_pointer else []
    return _proposed(kind, Clue(kind, parameter["line"], reason), "high", _kept(parameter, hints))


def _descriptor(clues: UseClues, known: dict[str, Found]) -> dict[str, Any]:
    clue = strongest(clues.scalar) or Clue("", 0, "")
    usual = [1] * (len(clues.axes) - 2) + [_BLOCK] * min(len(clues.axes), 2)
    sizes = (_size(known.get(name), size) for name, size in zip(clues.axes, usual, strict=True))
    block = ",".join(map(str, sizes))
    element = _element(clues)
    implied = element.implied if element is not None else DEFAULT_ELEMENT
    reason = f"{clue.reason}; its elements and block are examples"
    kind = f"tensordesc<{implied}[{block}]>"
    return _proposed(kind, Clue(kind, clue.line, reason), "low", [])


def _size(clues: Found | None, usual: int) -> int:
    """Return the size that a constexpr gets, or the usual one of an axis."""
    value = clues[0][0] if clues is not None and clues[0] else None
    return int(value["int"]) if isinstance(value, dict) and "int" in value else usual


def _pointer(parameter: dict[str, Any], clues: UseClues) -> dict[str, Any]:
    clue = strongest(clues.pointer) or Clue("", parameter["line"], "")
    element = _element(clues)
    hints = _kept(parameter, ["divisible_by_16"])
    const = "k" if parameter["const"] else ""
    if element is None:
        reason = f"{clue.reason}; the element type is not stated, so {DEFAULT_ELEMENT} is a guess"
        return _proposed(f"*{const}{DEFAULT_ELEMENT}", Clue("", clue.line, reason), "medium", hints)
    reason = f"{clue.reason}; {element.reason} on line {element.line}"
    return _proposed(f"*{const}{element.implied}", Clue("", clue.line, reason), "high", hints)


def _element(clues: UseClues) -> Clue | None:
    """Return the clue for the elements, of those that name a type."""
    return strongest([each for each in clues.element if not each.implied.startswith(OF_PARAMETER)])


def _scalar(parameter: dict[str, Any], clues: UseClues) -> dict[str, Any]:
    if (last := strongest(clues.last_stride)) is not None:
        return _proposed("i32", last, "high", ["equal_to_1"])
    clue = strongest([*clues.scalar, *_default_clues(parameter), *_name_clues(parameter)])
    if clue is None:
        nothing = Clue("int", parameter["line"], "the type is not stated, so i32 is a guess")
        return _proposed("i32", nothing, "low", [])
    kind = "fp32" if clue.implied == "float" else _KINDS.get(clue.implied, "i32")
    certain = "high" if clue.strength >= Strength.STRONG else "medium"
    hints, assumed = _assumed_hints(parameter, clues, kind)
    typed = Clue(kind, clue.line, clue.reason + assumed)
    made = _proposed(kind, typed, certain if clue.strength > Strength.NAME else "low", hints)
    return made | {"assumed_hints": hints}


def _assumed_hints(parameter: dict[str, Any], clues: UseClues, kind: str) -> tuple[list[str], str]:
    """Return what Triton's JIT finds in the sizes and strides of most launches.

    Only tensors whose sizes are multiples of 16 have such strides, except the last one, which is 1
    where the tensor is contiguous.
    """
    if kind != "i32" or parameter["do_not_specialize"]:
        return [], ""
    is_size = any(clue.implied == "size" for clue in clues.size)
    if (last := strongest(clues.unit_stride)) is not None and not is_size:
        return ["equal_to_1"], f"; {last.reason} on line {last.line}, assumed to be 1"
    if clues.size and (hints := _kept(parameter, ["divisible_by_16"])):
        return hints, "; sizes and strides are assumed to be divisible by 16"
    return [], ""


def _default_clues(parameter: dict[str, Any]) -> list[Clue]:
    literal = (parameter["default"] or {}).get("literal")
    if not isinstance(literal, dict):
        is_flag = isinstance(literal, bool)
        return [Clue("bool", parameter["line"], "is a flag by default")] if is_flag else []
    kind = next(iter(literal))
    if kind == "float":
        return [Clue("float", parameter["line"], "is a float by default")]
    return [Clue("int", parameter["line"], "is an integer by default", Strength.WEAK)]


def _name_clues(parameter: dict[str, Any]) -> list[Clue]:
    if not _FLOAT_NAME.search(parameter["name"]) or "stride" in parameter["name"]:
        return []
    return [Clue("float", parameter["line"], "is a float by its name", Strength.NAME)]


def _kept(parameter: dict[str, Any], hints: list[str]) -> list[str]:
    """Return the hints that the kernel lets the JIT derive."""
    is_plain = parameter["do_not_specialize"] or parameter["do_not_specialize_on_alignment"]
    return [] if is_plain else hints


def _proposed(kind: str, clue: Clue, confidence: str, hints: list[str]) -> dict[str, Any]:
    return {
        "type": kind,
        "hints": hints,
        "values": [],
        "line": clue.line,
        "reason": clue.reason[:MAX_REASON_CHARS],
        "confidence": confidence,
    }
