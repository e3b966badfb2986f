"""A state of the web page, as a permalink keeps it: the content of its forms, and its panes.

Texts are as they were typed, so a state may hold a kernel or a signature that is wrong. It is
checked for its shape and size alone, and nothing of it is ever executed or made markup of.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from compiler.languages import SourceLanguage
from compiler.request.compile_request import MAX_TEXT_CHARS
from compiler.stages import TextStage

_Name = Annotated[str, Field(min_length=1, max_length=200)]
_Source = Annotated[str, Field(max_length=MAX_TEXT_CHARS)]
_Text = Annotated[str, Field(max_length=10_000)]
_Texts = Annotated[dict[_Name, _Text], Field(max_length=256, fail_fast=True)]
PaneKind = Literal[
    TextStage, "passes", "resources", "explain", "comparison", "matrix", "proof", "run", "see"
]

EXAMPLE: dict[str, Any] = {
    "version": 1,
    "request": {
        "language": "python",
        "source": "import triton\n...",
        "kernel": "fill",
        "signature": {"x_ptr": "*fp32:16", "value": "fp32"},
        "constexprs": {"BLOCK_SIZE": "1024"},
        "options": {"num_warps": "4"},
        "target": "cuda:90",
        "triton": None,
    },
    "kept": None,
    "also_kept": [],
    "panes": ["ttir", "ptx"],
    "launch": None,
}


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class RequestText(_Part):
    """A compile request as the forms have it."""

    language: SourceLanguage = Field(description="of `source`")
    source: _Source = Field(description="what the editor holds")
    files: Annotated[dict[_Name, _Source], Field(max_length=64, fail_fast=True)] = Field(
        default={}, description="modules that the source imports, by path"
    )
    kernel: _Name | None = Field(description="null: the only one there is")
    signature: _Texts = Field(description="types by parameter, as typed")
    constexprs: _Texts = Field(description="values by parameter, as typed")
    options: _Texts = Field(description="those that were chosen, as typed")
    target: _Name = Field(description="such as cuda:90")
    triton: _Name | None = Field(description="a version; null: the deployment's default")


class ArgumentText(_Part):
    """An argument of a launch: a buffer where there is a shape, else a value."""

    shape: _Text = Field(description="numbers separated by commas; empty for a scalar")
    dtype: _Name = Field(description="of a buffer")
    init: _Name = Field(description="what a buffer is filled with, or none")
    value: _Text = Field(description="of a scalar")
    output: bool = Field(description="whether the kernel is to write it")


class CaseArgumentText(_Part):
    """The changes of a case to an argument; empty fields keep the launch's values."""

    shape: _Text = Field(description="of a buffer")
    init: Annotated[str, Field(max_length=200)] = Field(description="what it is filled with")
    value: _Text = Field(description="of a scalar")


class CaseText(_Part):
    """A further run of a launch."""

    name: Annotated[str, Field(max_length=200)] = Field(description="as it is called in the table")
    arguments: Annotated[dict[_Name, CaseArgumentText], Field(max_length=256)] = Field(
        description="by parameter"
    )


class LaunchText(_Part):
    """A launch as the forms have it."""

    grid: _Text = Field(description="numbers or expressions, separated by commas")
    arguments: Annotated[dict[_Name, ArgumentText], Field(max_length=256, fail_fast=True)] = Field(
        description="by parameter"
    )
    reference: Annotated[str, Field(max_length=100_000)] = Field(
        description="a function on NumPy arrays, or nothing"
    )
    cases: Annotated[list[CaseText], Field(max_length=99, fail_fast=True)] = Field(
        default=[], description="further runs, which change some of the arguments"
    )


class PageState(_Part):
    """A stored state of the page; its digest is its name."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    version: Literal[1] = Field(description="of this shape")
    request: RequestText = Field(description="what is on the page")
    kept: RequestText | None = Field(description="what it is compared with")
    also_kept: Annotated[list[RequestText], Field(max_length=8, fail_fast=True)] = Field(
        default=[], description="further requests that it is compared with"
    )
    panes: Annotated[list[PaneKind], Field(max_length=24)] = Field(description="in their order")
    launch: LaunchText | None = Field(description="of the pane that runs the kernel")
    contract: Annotated[str, Field(max_length=20_000)] | None = Field(
        default=None, description="what every launch keeps, for proofs"
    )
