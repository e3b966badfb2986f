"""Cases: their changes merged over the launch's members, and the checks that JSON alone allows.

An error of an argument points to its location in the request, in the case or in the launch.
"""

import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, PlainValidator

from compiler.compilation import amended
from compiler.rejection import MAX_ERRORS, FieldError, RequestRejected, collecting, pointer
from compiler.wanted import check_wanted
from launch.request.argument_binding import ARGUMENTS, BoundBefore, bind_arguments
from launch.request.argument_schema import MAX_ARGUMENTS
from launch.request.bound_arguments import BoundArguments
from launch.request.element import MAX_VALUES
from launch.request.grid import Grid, parse_grid
from launch.request.initializer import SEED_BITS, with_seed
from launch.request.launch_request import FUZZ, CaseRequest, FuzzRequest, LaunchRequest
from launch.request.reference_request import Reference, check_reference

_BY_POSITION = re.compile(r"arg(\d+)(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Origin:
    """The location of a case in a request, for errors.

    `at` is the pointer of the case ("" without cases), `changed` the arguments that it changes.
    `is_list`, `is_changed_list`: the launch's, and the case's, arguments are a list.
    """

    at: str = ""
    changed: frozenset[str] = frozenset()
    is_list: bool = False
    is_changed_list: bool = False
    reference_at: str = "/reference"

    def relocate(self, errors: Iterable[FieldError]) -> list[FieldError]:
        """Return errors of bound arguments (`/arguments/x_ptr/...`) with the request's pointers."""
        return [FieldError(self._pointer(error.pointer), error.message) for error in errors]

    def _pointer(self, bound: str) -> str:
        path = bound.removeprefix(ARGUMENTS + "/")
        if path == bound:
            return self.at + bound
        is_own = path.partition("/")[0] in self.changed
        match = _BY_POSITION.fullmatch(path)
        if match and (self.is_changed_list if is_own else self.is_list):
            path = match[1] + match[2]
        return f"{self.at if is_own else ''}{ARGUMENTS}/{path}"


MAX_LISTED_VALUES = 4 * MAX_VALUES
"""Limit of all cases together. Each case parses the members again that it does not change."""

_WHOLE = frozenset({"shape", "dtype"})
_NOT_BUFFERS = frozenset({"value", "tuple", "view", "descriptor", "int", "float"})
_MAX_POINTER_CHARS = 64


def _read_grid(raw: Any) -> Grid:
    if isinstance(raw, Grid):
        return raw
    match raw:
        case {"dimensions": dimensions, "at": str(at)} if len(at) <= _MAX_POINTER_CHARS:
            try:
                return parse_grid(dimensions, at)
            except RequestRejected as rejected:
                raise ValueError(str(rejected)) from None
    raise ValueError("a grid has `dimensions` and a short pointer `at`")


class Case(BaseModel):
    """One run of the kernel: everything that may differ between cases."""

    model_config = ConfigDict(frozen=True)

    index: Annotated[int, Field(ge=0)]
    name: Annotated[str, Field(max_length=256)] | None
    bound: BoundArguments
    grid: Annotated[
        Grid,
        PlainValidator(_read_grid),
        PlainSerializer(lambda grid: {"dimensions": grid.source, "at": grid.at}),
    ]
    reference: Reference | None


def cases_of(request: LaunchRequest, max_bytes: int) -> list[tuple[Case, Origin]]:
    """Return the cases of a launch with their origins; an unnamed one if the launch has no cases.

    The request must have its seeds (see `with_seeds`). Raises RequestRejected with all errors.
    """
    _check_count(request)
    base = named_arguments(request.arguments, ARGUMENTS)
    if not request.cases:
        return [_case(request, base, 0, CaseRequest(), "", max_bytes, BoundBefore())]
    errors: list[FieldError] = []
    cases: list[tuple[Case, Origin]] = []
    before = BoundBefore()
    written = 0
    for index, changes in enumerate(request.cases):
        check_wanted()
        if len(errors) >= MAX_ERRORS:
            break
        with collecting(errors):
            at = pointer("cases", index)
            cases.append(_case(request, base, index, changes, at, max_bytes, before))
            written += _listed_values(cases[-1][0].bound)
        if written > MAX_LISTED_VALUES:
            message = f"the cases list more than {MAX_LISTED_VALUES} values; upload them"
            errors.append(FieldError(pointer("cases"), message))
            break
    if errors:
        raise RequestRejected(*dict.fromkeys(errors))  # cases share what they do not change
    return cases


def argument_count(request: LaunchRequest) -> int:
    """Return the number of arguments in all cases; beyond `MAX_ARGUMENTS` not all are counted."""
    count = arguments_in(request.arguments) * max(1, len(request.cases))
    for case in request.cases:
        if count <= MAX_ARGUMENTS:
            count += arguments_in(case.arguments)
    return count


def _check_count(request: LaunchRequest) -> None:
    """Raise RequestRejected for more arguments than the service can bind in a short time."""
    if argument_count(request) > MAX_ARGUMENTS:
        at = pointer("cases") if request.cases else ARGUMENTS
        message = f"more than {MAX_ARGUMENTS} arguments, items of tuples and all cases included"
        raise RequestRejected(FieldError(at, message))


def arguments_in(arguments: Any) -> int:
    """Return the number of arguments, including items of tuples."""
    named = arguments.values() if isinstance(arguments, dict) else arguments
    left, count = list(named) if isinstance(named, Iterable) else [], 0
    while left and count <= MAX_ARGUMENTS:
        raw = left.pop()
        count += 1
        items = raw.get("tuple") if isinstance(raw, dict) else raw
        if isinstance(items, list):
            left += items
    return count


def _listed_values(bound: BoundArguments) -> int:
    inits = [allocation.init for allocation in bound.allocations if allocation.init]
    return sum(len(init.get("values", ())) for init in inits)


def _case(
    request: LaunchRequest,
    base: Mapping[str, Any],
    index: int,
    changes: CaseRequest,
    at: str,
    max_bytes: int,
    before: BoundBefore,
) -> tuple[Case, Origin]:
    errors: list[FieldError] = []
    changed: dict[str, Any] = {}
    if changes.arguments is not None:
        changed = named_arguments(changes.arguments, at + ARGUMENTS)
    origin = Origin(
        at,
        frozenset(changed),
        is_list=isinstance(request.arguments, list),
        is_changed_list=isinstance(changes.arguments, list),
        reference_at=("" if changes.reference is None else at) + "/reference",
    )
    try:
        bound = bind_arguments(merge_arguments(base, changed), max_bytes, before)
    except RequestRejected as rejected:
        errors += origin.relocate(rejected.errors)
    with collecting(errors):
        own = changes.grid is not None
        grid = parse_grid(changes.grid, at + "/grid") if own else parse_grid(request.grid)
    with collecting(errors):
        reference = _reference(request.reference, changes.reference, origin.reference_at)
    if errors:
        raise RequestRejected(*errors)
    case = Case(index=index, name=changes.name, bound=bound, grid=grid, reference=reference)
    return case, origin


def _reference(base: Reference | None, changes: Reference | None, at: str) -> Reference | None:
    reference = base
    if changes is not None:
        reference = base.merged(changes) if base else changes
    if reference is not None:
        check_reference(reference, at)
    return reference


def named_arguments(raw: Any, at: str) -> dict[str, Any]:
    """Return arguments by name; items of a list are arg0, arg1, ... Raises RequestRejected."""
    if isinstance(raw, list):
        return {f"arg{index}": item for index, item in enumerate(raw)}
    if not isinstance(raw, dict):
        raise RequestRejected(FieldError(at, "must be an object by name, or a list by position"))
    return raw


def merge_arguments(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with the arguments that a case changes.

    An argument replaces the launch's. A buffer without shape or dtype replaces only its given
    fields.
    """
    merged = dict(base)
    for name, change in changes.items():
        whole = merged.get(name)
        if _is_buffer(change) and _is_buffer(whole) and not change.keys() >= _WHOLE:
            merged[name] = {**whole, **change}  # type: ignore[dict-item]
        else:
            merged[name] = change
    return merged


def _is_buffer(raw: Any) -> bool:
    return isinstance(raw, dict) and not raw.keys() & _NOT_BUFFERS


def with_seeds(request: LaunchRequest, source: random.Random) -> LaunchRequest:
    """Return the request with a seed from `source` for each initialiser that needs one.

    Cases share the seeds of arguments that they do not change. Raises RequestRejected for too many
    arguments.
    """
    _check_count(request)
    cases = [amended(case, arguments=_seed(case.arguments, source)) for case in request.cases]
    arguments = _seed(request.arguments, source)
    changed: dict[str, Any] = {"arguments": arguments, "cases": cases}
    if FUZZ in request.checks:
        changed["fuzz"] = _seed_fuzz(request.fuzz or FuzzRequest(), source)
    return amended(request, **changed)


def _seed_fuzz(fuzz: FuzzRequest, source: random.Random) -> FuzzRequest:
    return fuzz if fuzz.seed is not None else amended(fuzz, seed=source.getrandbits(SEED_BITS))


def _seed(raw: Any, source: random.Random) -> Any:
    if isinstance(raw, dict):
        return {name: _seed_argument(item, source) for name, item in raw.items()}
    if isinstance(raw, list):
        return [_seed_argument(item, source) for item in raw]
    return raw


def _seed_argument(raw: Any, source: random.Random) -> Any:
    """Return an argument with seeds; its size was checked before."""
    if isinstance(raw, list):
        return [_seed_argument(item, source) for item in raw]
    if not isinstance(raw, dict):
        return raw
    seeded = _seed_buffer(raw, source)
    items, described = raw.get("tuple"), raw.get("descriptor")
    if isinstance(items, list):
        seeded = seeded | {"tuple": _seed_argument(items, source)}
    if isinstance(described, dict) and isinstance(described.get("base"), dict):
        base = _seed_buffer(described["base"], source)
        seeded = seeded | {"descriptor": described | {"base": base}}
    return seeded


def _seed_buffer(raw: dict[str, Any], source: random.Random) -> dict[str, Any]:
    return raw | {"init": with_seed(raw["init"], source)} if "init" in raw else raw


def seeds_of(bound: BoundArguments) -> dict[str, int]:
    """Return the seeds of the random inputs, by argument."""
    return {
        allocation.name: allocation.init["seed"]
        for allocation in bound.allocations
        if allocation.init is not None and "seed" in allocation.init
    }
