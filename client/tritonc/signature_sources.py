"""Completes a request whose signature is given nowhere: from the file, pyproject.toml, or use.

`# tritonc: n=i32 BLOCK=64 num_warps=8` above a kernel, then `[tool.tritonc.kernels.NAME]` in
pyproject.toml, then what `Client.inspect` proposes. What was inferred is returned as a sentence,
for the user to read.
"""

import json
import re
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tritonc.compile_body import named_dtype
from tritonc.service_errors import TritoncError

PROJECT_FILE = "pyproject.toml"
MEMBERS = ("signature", "constexprs", "hints", "options")
_COMMENT = re.compile(r"\s*#\s*tritonc:(?P<words>.*)")
_DEFINED = re.compile(r"\s*def\s+(?P<name>\w+)\s*\(")
_SUFFIXES = {"divisible_by_16": ":16", "equal_to_1": ":1"}
_OF_HINTS = {"16": " divisible by 16", "1": " of 1"}
_PYTHON = {"True": True, "False": False, "None": None}


class InvalidSignatureSource(TritoncError):
    """A `# tritonc:` comment or a table of pyproject.toml that cannot be read."""


@dataclass(frozen=True, slots=True)
class CompletedMembers:
    """The members of a compile request; `inferred` lists what was assumed, if anything."""

    members: dict[str, Any] = field(default_factory=dict)
    inferred: str = ""


def chosen_kernel(inspection: Mapping[str, Any], name: str | None) -> Mapping[str, Any] | None:
    """Return the inspected kernel that a request without a further name means, None if several."""
    kernels = inspection.get("kernels") or ()
    called = {other for item in kernels for other in item.get("calls") or ()}
    written = inspection.get("written") or ()
    wanted = [item for item in (*kernels, *written) if item["name"] == name]
    wanted = wanted if name else [item for item in kernels if item["name"] not in called]
    if len(wanted) > 1:  # the one that the file launches, not an unused helper
        wanted = [item for item in wanted if item.get("launched")]
    return wanted[0] if len(wanted) == 1 else None


def is_written(text: str, path: Path | None) -> bool:
    """Return whether comments of a file or its pyproject.toml give types or values.

    Raises InvalidSignatureSource.
    """
    has_comment = any(_COMMENT.match(line) for line in text.splitlines())
    return has_comment or bool(_project_table(path)[1])


def completed(
    flags: Mapping[str, Any],
    kernel: Mapping[str, Any],
    *,
    text: str = "",
    path: Path | None = None,
    with_types: bool = True,
    with_hints: bool = True,
) -> CompletedMembers:
    """Return the members of a request for an inspected kernel, completed.

    `flags` takes precedence. `text` and `path` are those of its file. Without `with_types` only
    constexprs are added, as for a launch, whose arguments give the types. Without `with_hints`,
    nothing is assumed of sizes and strides, as for a proof. Raises InvalidSignatureSource.
    """
    written = _over(_of_project(path, kernel), _of_comment(text, kernel))
    if not with_types:
        written.pop("signature", None)
        written.pop("hints", None)
    merged = _over(written, {name: flags.get(name) for name in MEMBERS})
    inferred = _inferred(kernel, merged, with_types=with_types, with_hints=with_hints)
    both = _over(inferred, merged)
    rest = {name: member for name, member in flags.items() if name not in MEMBERS}
    return CompletedMembers({**rest, **both}, _sentence(kernel, inferred))


def lacks(kernel: Mapping[str, Any], members: Mapping[str, Any]) -> bool:
    """Return whether a parameter of an inspected kernel has neither type, value nor default."""
    if isinstance(members.get("signature"), str):
        return False
    known = {*_named(members, "signature"), *_named(members, "constexprs")}
    return any(p["name"] not in known and not p["default"] for p in kernel["parameters"])


def is_tuned_by_code(kernel: Mapping[str, Any]) -> bool:
    """Return whether only executing a kernel's file shows what its autotuner tries."""
    return any("expression" in config for config in kernel.get("configs") or ())


def tuned(kernel: Mapping[str, Any], autotune: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return an inspected kernel with the configurations that executing its file gave."""
    configs = (autotune or {}).get("configs") or ()
    if autotune is None or not configs:
        return kernel
    parameters = [dict(parameter) for parameter in kernel["parameters"]]
    for parameter in parameters:
        values = [
            c["values"][parameter["name"]] for c in configs if parameter["name"] in c["values"]
        ]
        if values:
            parameter["proposal"] = {
                "type": "constexpr",
                "hints": [],
                "values": values,
                "line": autotune["line"],
                "reason": "@triton.autotune tries these values",
                "confidence": "high",
            }
    return {**kernel, "parameters": parameters, "configs": [_literals(c) for c in configs]}


def _literals(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration that was read by executing the file like one read from its text."""
    options = {n: v for n, v in config["options"].items() if (n, v) != ("num_ctas", 1)}
    return {
        "constexprs": {name: {"literal": value} for name, value in config["values"].items()},
        "options": {name: {"literal": value} for name, value in options.items()},
    }


def template(kernel: Mapping[str, Any]) -> str:
    """Return the comment that gives a kernel the proposed types and values."""
    made = _inferred(kernel, {}, with_types=True)
    values = {name: shown_value(value) for name, value in made.get("constexprs", {}).items()}
    options = {name: shown_value(value) for name, value in made.get("options", {}).items()}
    words = {**made.get("signature", {}), **values, **options}
    return f"# tritonc: {' '.join(shlex.quote(f'{n}={word}') for n, word in words.items())}"


def _inferred(
    kernel: Mapping[str, Any],
    flags: Mapping[str, Any],
    *,
    with_types: bool,
    with_hints: bool = True,
) -> dict[str, Any]:
    """Return the members that proposals add to those given."""
    if isinstance(flags.get("signature"), str):
        with_types = False
    known = {name for member in ("signature", "constexprs") for name in _named(flags, member)}
    made: dict[str, Any] = {"signature": {}, "constexprs": {}, "options": {}}
    is_tuned = False
    for parameter in kernel["parameters"]:
        name, proposal = parameter["name"], parameter.get("proposal")
        if proposal is None or name in known:
            continue
        if proposal["type"] == "constexpr":
            passed = bool(proposal.get("passed"))
            is_set = passed or not parameter["default"] or _is_configured(name, kernel)
            if is_set and proposal["values"]:
                made["constexprs"][name] = proposal["values"][0]
                is_tuned |= _is_configured(name, kernel)
        elif with_types and (proposal.get("passed") or not _is_none(parameter["default"])):
            written = hinted_type(proposal, with_assumed=with_hints)
            other = _named(flags, "signature").get(proposal.get("dtype_of"))
            made["signature"][name] = with_element_of(written, other)
    if kernel.get("launch"):
        own = _named(flags, "options")
        options = kernel["launch"]["options"]
        made["options"] = {name: value for name, value in options.items() if name not in own}
    elif is_tuned:
        options = next((c.get("options") or {} for c in kernel.get("configs") or ()), {})
        made["options"] = {
            name: value["literal"]
            for name, value in options.items()
            if value and value.get("literal") is not None and name not in _named(flags, "options")
        }
    return {name: member for name, member in made.items() if member}


def hinted_type(proposal: Mapping[str, Any], *, with_assumed: bool = True) -> str:
    """Return a proposed type with the suffix of its hint: `*fp32:16`, `i32:1`."""
    left_out = () if with_assumed else proposal.get("assumed_hints") or ()
    hints = [hint for hint in proposal["hints"] if hint not in left_out]
    suffixes = [_SUFFIXES[hint] for hint in hints if hint in _SUFFIXES]
    return "".join([proposal["type"], *suffixes[:1]])


def with_element_of(pointer: str, other: Any) -> str:
    """Return the type of a pointer with the elements of another one, if `other` is such a type."""
    if not isinstance(other, str) or not other.startswith("*"):
        return pointer
    _, colon, hint = pointer.partition(":")
    return f"*{other.partition(':')[0].removeprefix('*').removeprefix('k')}{colon}{hint}"


def _is_configured(name: str, kernel: Mapping[str, Any]) -> bool:
    return any(name in (c.get("constexprs") or {}) for c in kernel.get("configs") or ())


def _is_none(default: Mapping[str, Any] | None) -> bool:
    return bool(default) and (default or {}).get("literal", "") is None


def _named(members: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    member = members.get(name)
    return member if isinstance(member, Mapping) else {}


def _sentence(kernel: Mapping[str, Any], inferred: Mapping[str, Any]) -> str:
    """Return what was inferred: `*fp16 a; i32 m, s divisible by 16; i32 t of 1; BLOCK=64`."""
    by_type: dict[str, list[str]] = {}
    for name, written in _named(inferred, "signature").items():
        kind, _, hint = written.partition(":")
        is_number = not kind.startswith("*")  # pointers are aligned unless stated otherwise
        by_type.setdefault(written if is_number and hint else kind, []).append(name)
    lines = {p["name"]: p["proposal"] for p in kernel["parameters"] if p.get("proposal")}
    words = []
    for written, names in by_type.items():
        kind, _, hint = written.partition(":")
        words.append(f"{kind} {', '.join(names)}{_OF_HINTS.get(hint, '')}")
    for name, value in _named(inferred, "constexprs").items():
        example = " (an example)" if lines[name]["confidence"] == "low" else ""
        words.append(f"{name}={shown_value(value)}{example}")
    words += [f"{name}={shown_value(v)}" for name, v in _named(inferred, "options").items()]
    return "; ".join(words)


def shown_value(value: Any) -> str:
    """Return a constexpr or option as the command line takes it."""
    if value is None or isinstance(value, bool | str):
        return str(value)
    return json.dumps(value, separators=(",", ":"))


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of both; those `above` win, name by name."""
    merged = {name: member for name, member in below.items() if member}
    for name, member in above.items():
        if member is None or member == {}:
            continue
        both = isinstance(member, Mapping) and isinstance(merged.get(name), Mapping)
        merged[name] = {**merged[name], **member} if both else member
    types = merged.get("signature")
    if isinstance(types, Mapping):  # a value above takes the place of a type below
        values = _named(above, "constexprs")
        merged["signature"] = {name: kind for name, kind in types.items() if name not in values}
    return merged


def _of_comment(text: str, kernel: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of the comments between the last function and the kernel."""
    words: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if comment := _COMMENT.match(line):
            try:
                words += shlex.split(comment["words"])
            except ValueError as error:
                raise InvalidSignatureSource(f"line {number}: {line.strip()}: {error}") from error
        elif defined := _DEFINED.match(line):
            if defined["name"] == kernel["name"]:
                return _placed(words, kernel)
            words = []
    return {}


def _placed(words: list[str], kernel: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members for NAME=VALUE words: types, constexprs, and options."""
    made: dict[str, Any] = {"signature": {}, "constexprs": {}, "options": {}}
    parameters = {parameter["name"]: parameter for parameter in kernel["parameters"]}
    for word in words:
        name, equals, text = word.partition("=")
        if not name or not equals:
            raise InvalidSignatureSource(
                f"# tritonc: above {kernel['name']}: {word!r} is not NAME=VALUE"
            )
        if name == "signature":
            made[name] = text
        elif name not in parameters:
            made["options"][name] = _value(text)
        elif _is_constexpr(parameters[name]):
            made["constexprs"][name] = _value(text)
        else:
            made["signature"][name] = text
    return {name: member for name, member in made.items() if member}


def _is_constexpr(parameter: Mapping[str, Any]) -> bool:
    proposal = parameter.get("proposal") or {}
    return bool(parameter.get("constexpr")) or proposal.get("type") == "constexpr"


def _value(text: str) -> Any:
    if (dtype := named_dtype(text)) is not None:
        return dtype
    try:
        return _PYTHON[text] if text in _PYTHON else json.loads(text)
    except (ValueError, RecursionError):
        return text


def _of_project(path: Path | None, kernel: Mapping[str, Any]) -> dict[str, Any]:
    """Return the kernel's table in the nearest pyproject.toml with [tool.tritonc]."""
    file, table = _project_table(path)
    return _checked(file, table, kernel["name"]) if table else {}


def _project_table(path: Path | None) -> tuple[Path, Mapping[str, Any]]:
    for folder in path.resolve().parents if path is not None else ():
        file = folder / PROJECT_FILE
        try:
            document = tomllib.loads(file.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (ValueError, OSError) as error:
            raise InvalidSignatureSource(f"{file}: {error}") from error
        table = (document.get("tool") or {}).get("tritonc")
        if isinstance(table, Mapping):
            return file, table
    return Path(PROJECT_FILE), {}


def _checked(file: Path, table: Mapping[str, Any], name: str) -> dict[str, Any]:
    place = f"{file}: [tool.tritonc.kernels.{name}]"
    if unknown := table.keys() - {"kernels"}:
        raise InvalidSignatureSource(f"{file}: [tool.tritonc] has `kernels`, not `{min(unknown)}`")
    kernels = table.get("kernels") or {}
    members = kernels.get(name, {}) if isinstance(kernels, Mapping) else None
    if not isinstance(members, Mapping):
        raise InvalidSignatureSource(f"{place}: this is not a table")
    for key, member in members.items():
        if key not in MEMBERS:
            raise InvalidSignatureSource(f"{place}: `{key}` is none of {', '.join(MEMBERS)}")
        if not isinstance(member, Mapping) and not (key == "signature" and type(member) is str):
            raise InvalidSignatureSource(f"{place}: `{key}` is not a table")
    return dict(members)
