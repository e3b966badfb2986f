"""The body of POST /v1/sweeps: shape only. `space` defines what its space means."""

from typing import Annotated, Any

from pydantic import Field, field_validator

from compiler.proof.contract import ContractError
from compiler.rejection import FieldError, RequestRejected
from compiler.request.compile_request import EXAMPLE as COMPILATION_EXAMPLE
from compiler.request.compile_request import Json, Name
from launch.contract.text import MAX_CHARACTERS, read_contract
from launch.request.launch_request import EXAMPLE as LAUNCH_EXAMPLE
from launch.request.request_part import ReadLater, RequestPart
from sweeps.search.search_request import SearchRequest
from sweeps.variant import Kind

MAX_CONDITIONS = 16
MAX_CONDITION_CHARS = 4096
"""`where` has its own lower limit; beyond this one a body is refused unread."""
MAX_MEMBERS = 64
"""The limit for members of a base: a launch has some twenty."""
MAX_BUDGET_S = 3600
INCLUDED = ("instruction_mix",)
OF_LAUNCHES = ("compilation", "compilation_key", "grid", "arguments", "device", "reference")
"""Members that only a launch has: a base with one of them is one."""
OF_COMPILATIONS = ("source", "ir", "signature", "target", "constexprs", "specialization_data")

_BASE = {name: COMPILATION_EXAMPLE[name] for name in ("source", "signature", "target")}
EXAMPLE: dict[str, Any] = {
    "base": _BASE,
    "space": {
        "product": {"constexprs.BLOCK_SIZE": [512, 1024, 2048], "options.num_warps": [2, 4, 8]}
    },
    "where": ["BLOCK_SIZE >= 128 * num_warps"],
}
TARGETS_EXAMPLE: dict[str, Any] = {
    "base": _BASE,
    "space": {"constexprs": {"BLOCK_SIZE": [1024]}, "target": ["cuda:80", "cuda:90", "hip:gfx942"]},
    "include": ["instruction_mix"],
}
LAUNCH_SWEEP_EXAMPLE: dict[str, Any] = {
    "base": LAUNCH_EXAMPLE | {"device": "cpu"},
    "space": [{"constexprs": {"BLOCK_SIZE": 512}}, {"constexprs": {"BLOCK_SIZE": 1024}}],
}


class SweepRequest(RequestPart):
    """One base, and the space of changes of its variants."""

    base: dict[Name, Json] = Field(
        max_length=MAX_MEMBERS,
        description="a body of POST /v1/compilations, or of POST /v1/launches",
    )
    space: Json = Field(
        description='`{"product": {axis: values}}`, `{axis: values}`, a list of variants, '
        '`{"variants": [...]}`, or `{"autotune": true}`; axes are constexprs.NAME, options.NAME, '
        "target, triton, source, and of launches arguments, arguments.NAME and grid"
    )
    where: list[Annotated[str, Field(max_length=MAX_CONDITION_CHARS)]] = Field(
        default_factory=list,
        max_length=MAX_CONDITIONS,
        description="a variant stays when all are true; names are constexprs, options and scalars",
    )
    search: Annotated[Json, ReadLater(lambda: SearchRequest)] = Field(
        default=None, description="of launches on a GPU: how to find winners"
    )
    budget_s: Annotated[float, Field(gt=0, le=MAX_BUDGET_S)] | None = Field(
        default=None, description="rows that are not over after this many seconds are `pruned`"
    )
    contract: Annotated[str, Field(max_length=MAX_CHARACTERS)] | None = Field(
        default=None,
        description="what every launch keeps (docs/reference/proofs.md): each row's "
        "kernel is proved in bounds and free of overflow, or refuted",
    )
    include: list[Name] = Field(
        default_factory=list, max_length=8, description="`instruction_mix`: in each row"
    )

    @field_validator("base", mode="after")
    @classmethod
    def _null_is_absent_in_it(cls, base: dict[str, Any]) -> dict[str, Any]:
        present = {name: part for name, part in base.items() if part is not None}
        if isinstance(kernel := present.get("compilation"), dict):
            present["compilation"] = {n: part for n, part in kernel.items() if part is not None}
        return present


def kind_of_base(base: dict[str, Any]) -> Kind:
    """Return what the base is a body of. Raises RequestRejected for one that is of neither."""
    launch = [name for name in OF_LAUNCHES if name in base]
    compilation = [name for name in OF_COMPILATIONS if name in base]
    if launch and compilation:
        message = (
            f"has `{launch[0]}` of a launch and `{compilation[0]}` of a compilation; a launch has "
            "the latter in its `compilation`"
        )
        raise RequestRejected(FieldError("/base", message))
    if not launch and not compilation:
        message = (
            "is neither a compilation (`source`, `target`) nor a launch (`compilation`, `grid`)"
        )
        raise RequestRejected(FieldError("/base", message))
    return "launches" if launch else "compilations"


def check_contract(contract: str | None) -> None:
    """Refuse a contract with a mistake, with its place. Raises RequestRejected."""
    if contract is None:
        return
    try:
        read_contract(contract)
    except ContractError as error:
        raise RequestRejected(FieldError("/contract", str(error))) from None


def check_included(include: list[str]) -> None:
    """Refuse what rows cannot have. Raises RequestRejected."""
    errors = [
        FieldError(
            f"/include/{index}", f"{name!r} is nothing that rows have; there is instruction_mix"
        )
        for index, name in enumerate(include)
        if name not in INCLUDED
    ]
    if errors:
        raise RequestRejected(*errors)
