"""The JSON of a launch request, from Python values, and the arrays to upload before it.

The service checks the request and reports errors.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict, Unpack

from tritonc.compilation import Compilation
from tritonc.compile_body import JSON_SAFE_INTEGER, check_source, constexpr_json, members_json
from tritonc.diagnostic import POSTED_REFERENCE, POSTED_SOURCE
from tritonc.jit.jit_launch import is_jit, jit_launch, package_of
from tritonc.packages.package import Package, with_modules
from tritonc.reference_text import Reference, case_reference_json, reference_json
from tritonc.target_names import target_name
from tritonc.upload import Upload, array, is_array

Source = str | Compilation | Mapping[str, Any] | Any
"""The text of a source, a jit function, a compilation, or the JSON of a compile request.

`{"compilation_key": key}` names an existing compilation. A function under `@triton.jit` is sent as
its file, together with the modules of its package that it needs.
"""

Grid = Sequence[int | str] | int | str | Callable[[dict[str, Any]], Any]
"""Numbers and expressions; for a jit function also a function of its arguments, as in Triton."""


class KernelMembers(TypedDict, total=False):
    """Compile settings for a source. Without a signature it is inferred."""

    kernel: str
    """The kernel's name, required if the source has several."""
    target: str
    """`cuda:90`, ...; optional if the device implies it, and on the CPU device."""
    signature: Mapping[str, Any] | str
    constexprs: Mapping[str, Any]
    hints: Mapping[str, Iterable[str]]
    options: Mapping[str, Any]
    files: Mapping[str, str]
    """Further modules that the source imports, by path."""
    module: str
    """The source's own dotted name in its package, such as `pkg.sub.mod`."""
    absent: Sequence[str]
    """With `module`: modules that this machine does not have either."""
    triton: str
    """A Triton version that the deployment offers."""


class LaunchMembers(KernelMembers, total=False):
    """The members of a launch; the service picks defaults for omitted ones."""

    device: str | Mapping[str, str]
    """`auto`, `cpu`, `gpu`, a target, or `{"target": "cuda:90", "model": "NVIDIA H200"}`."""
    reference: Reference
    """The source of the expected outputs."""
    cases: Sequence[Mapping[str, Any]]
    """Each has a `name` and its changes: `arguments`, `grid`, `reference`."""
    stop_after_failures: int
    returns: Mapping[str, str]
    """By output: `none`, `summary`, `values`, or `tensor` for `launches.output`."""
    timing: Mapping[str, Any]
    checks: Sequence[str]
    """`memcheck`, `racecheck`, `initcheck`, `determinism`, `fuzz`."""
    fuzz: Mapping[str, Any]
    """Settings of fuzzing: `seed`, the maximum number of `cases`, `fixed` arguments."""
    profile: bool | str
    """On a GPU: run once more under a profiler; `lines`: and again for the heat of each line."""
    isolation: str
    trace: Mapping[str, Any]
    """On the CPU device: the programs whose memory accesses to record, for `launches.trace`.

    With `{"values": True}` also the results of each operation.
    """
    timeout_s: float
    """Time limit of each run, reference and compilation in seconds."""
    deadline_s: float
    """Time limit of everything: queue, compile and execution."""
    priority: str


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """The JSON of a launch and its arrays; `sources` are the posted texts by file."""

    body: Mapping[str, Any]
    uploads: Mapping[str, Upload] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    package: Package | None = None
    """The package of the kernel's file, for the modules that the service asks for."""


def launch_request(
    source: Source,
    *,
    arguments: Mapping[str, Any] | Sequence[Any],
    grid: Grid,
    package: Package | None = None,
    **members: Unpack[LaunchMembers],
) -> LaunchRequest:
    """Return a launch to post alone or in a batch; `members` are those of `LaunchMembers`.

    An array named in `returns` is an output. Raises TypeError for values that are neither arrays
    nor JSON, and OSError for a jit function whose file cannot be read.
    """
    uploads: dict[str, Upload] = {}
    rest: dict[str, Any] = dict(members)
    if is_jit(source):
        package = package or package_of(source)
        source, arguments, grid = _of_jit(source, arguments, grid, rest)
    elif callable(grid):
        raise TypeError("a grid must be a list of numbers and expressions: ['cdiv(n, BLOCK)']")
    arguments = _with_outputs(arguments, rest.get("returns") or {})
    compiled = {name: rest.pop(name, None) for name in KernelMembers.__annotations__}
    compilation = _compilation(source, compiled, rest.get("device"))
    reference = rest.pop("reference", None)
    cases = [_case(case, reference, uploads) for case in rest.pop("cases", None) or ()]
    body = {
        **compilation,
        "arguments": arguments_json(arguments, uploads),
        "grid": [grid] if isinstance(grid, int | str) else list(grid),
        "reference": reference_json(reference),
        "cases": cases or None,
        "return": rest.pop("returns", None) or None,
        **rest,
    }
    written = {name: member for name, member in body.items() if member is not None}
    written = dict(with_modules(written, package))
    return LaunchRequest(written, uploads, _sources(written), package)


def _of_jit(
    function: Any, arguments: Any, grid: Any, members: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], list[int | str]]:
    """Return source, arguments and grid; compile settings are taken out of `members`."""
    compiled = {name: members.pop(name, None) for name in KernelMembers.__annotations__}
    jit = jit_launch(function, arguments, compiled["constexprs"], compiled["options"])
    compiled |= {"constexprs": jit.constexprs or None, "options": jit.options or None}
    source = jit.source | {n: member for n, member in compiled.items() if member is not None}
    return source, jit.arguments, jit.grid(grid)


def _compilation(source: Source, members: Mapping[str, Any], device: Any) -> dict[str, Any]:
    present = {name: member for name, member in members.items() if member is not None}
    default = {} if (target := _target(device)) is None else {"target": target}
    check_source(source)
    if isinstance(source, str):
        return {"compilation": members_json({"source": source, **default, **present})}
    if present:
        names = ", ".join(present)
        raise TypeError(f"{names}: only allowed with a source; a compilation has them already")
    if isinstance(source, Compilation):
        return {"compilation_key": source.key}
    if "compilation_key" in source:
        return dict(source)
    return {"compilation": members_json({**default, **source})}


def _with_outputs(arguments: Any, returns: Mapping[str, str]) -> Any:
    """Return the arguments, with those named in `returns` marked as outputs."""
    if not isinstance(arguments, Mapping):
        return arguments
    return {
        name: array(value, output=True) if name in returns and is_array(value) else value
        for name, value in arguments.items()
    }


def _sources(body: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts of a request by the service's names for them."""
    compilation, reference = body.get("compilation") or {}, body.get("reference") or {}
    texts = {
        POSTED_SOURCE: compilation.get("source"),
        POSTED_REFERENCE: reference.get("source"),
        **(compilation.get("files") or {}),
    }
    return {name: text for name, text in texts.items() if text}


def _target(device: Any) -> Any:
    """Return the target of a device, None if it names none."""
    if isinstance(device, Mapping):
        return device.get("target")
    name = target_name(device) if isinstance(device, str) else ""
    return name if ":" in name else None


def _case(
    case: Mapping[str, Any], reference: Reference | None, uploads: dict[str, Upload]
) -> dict[str, Any]:
    """Return the JSON of a case of a launch with this `reference`; add its arrays to `uploads`."""
    changed: dict[str, Any] = dict(case)
    if changed.get("arguments") is not None:
        changed["arguments"] = arguments_json(changed["arguments"], uploads)
    if changed.get("reference") is not None:
        changed["reference"] = case_reference_json(changed["reference"], reference)
    return changed


def arguments_json(arguments: Any, uploads: dict[str, Upload]) -> Any:
    """Return the JSON of arguments by name or by position; add their arrays to `uploads`.

    Raises TypeError or ValueError with the name of the argument that JSON cannot represent.
    """
    if isinstance(arguments, Mapping):
        return {name: _named_argument(name, value, uploads) for name, value in arguments.items()}
    return [_named_argument(index, value, uploads) for index, value in enumerate(arguments)]


def _named_argument(name: Any, value: Any, uploads: dict[str, Upload]) -> Any:
    try:
        return _argument_json(value, uploads)
    except (TypeError, ValueError) as error:
        raise type(error)(f"argument {name!r}: {error}") from None


def _argument_json(value: Any, uploads: dict[str, Upload]) -> Any:
    """Return the JSON of an argument; add its arrays to `uploads`."""
    if is_array(value):
        value = array(value)
    match value:
        case Upload():
            uploads[value.digest] = value
            return value.described()
        case Mapping():
            return {name: _member_json(member, uploads) for name, member in value.items()}
        case tuple() | list():
            return {"tuple": [_argument_json(item, uploads) for item in value]}
    return constexpr_json(_number(value))


def _member_json(value: Any, uploads: dict[str, Upload]) -> Any:
    """Return the JSON of a value within an argument given as a mapping."""
    if is_array(value) or isinstance(value, Upload | Mapping):
        return _argument_json(value, uploads)
    match _number(value):
        case list() | tuple() as items:
            return [_member_json(item, uploads) for item in items]
        case bool() | str() | None as plain:
            return plain
        case int() as number:
            return number if abs(number) <= JSON_SAFE_INTEGER else str(number)
        case float() as number:
            spelt = "NaN" if math.isnan(number) else f"{'-' if number < 0 else ''}Infinity"
            return number if math.isfinite(number) else spelt
    raise TypeError(f"{value!r} is a {type(value).__name__}, which JSON lacks")


def _number(value: Any) -> Any:
    """Return a NumPy number as a Python number, and anything else unchanged."""
    is_foreign = hasattr(value, "item") and hasattr(value, "dtype")
    return value.item() if is_foreign else value
