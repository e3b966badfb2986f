"""The body of POST /v1/compilations, as it is written on the wire.

Shape and types only; `resolution` resolves the meaning of the values.
"""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue, WithJsonSchema, model_validator

from compiler.languages import PostedLanguage
from compiler.rejection import MAX_NAME_CHARS
from compiler.request.signature import MAX_PARAMETERS
from compiler.stages import CompiledStage

MAX_TIMEOUT_S = 600
MAX_TEXT_CHARS = 64 << 20
"""Limit of a source, a file or IR in any deployment; its settings allow less."""
MAX_FILES = 4096
MAX_PATH_CHARS = 1024
MAX_MODULE_CHARS = 512
MAX_ABSENT = 512
MAX_OPTIONS = 64

EXAMPLE: dict[str, Any] = {
    "source": (
        "import triton\nimport triton.language as tl\n\n\n"
        "@triton.jit\n"
        "def add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):\n"
        "    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)\n"
        "    mask = offsets < n_elements\n"
        "    x = tl.load(x_ptr + offsets, mask=mask)\n"
        "    y = tl.load(y_ptr + offsets, mask=mask)\n"
        "    tl.store(output_ptr + offsets, x + y, mask=mask)\n"
    ),
    "signature": {
        "x_ptr": "*fp32:16",
        "y_ptr": "*fp32:16",
        "output_ptr": "*fp32:16",
        "n_elements": "i32",
    },
    "constexprs": {"BLOCK_SIZE": 1024},
    "target": "cuda:90",
    "options": {"num_warps": 4},
    "include": ["ttir", "ptx"],
}

_SIGNATURE_SCHEMA = {
    "anyOf": [
        {
            "title": "SignatureByName",
            "type": "object",
            "additionalProperties": {
                "anyOf": [
                    {"title": "TypeName", "type": "string"},
                    {"title": "TupleOfTypes", "type": "array", "items": {}},
                ]
            },
        },
        {"title": "SignatureOfAotCompiler", "type": "string"},
        {"type": "null"},
    ]
}


DIGEST_PATTERN = "^sha256:[0-9a-f]{64}$"
FILES_SCHEMA: dict[str, Any] = {
    "type": "object",
    "propertyNames": {
        "not": {"const": "user.py"},
        "pattern": r"^[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*\.py$",
    },
    "additionalProperties": {
        "anyOf": [
            {"title": "FileText", "type": "string"},
            {
                "title": "FileDigest",
                "description": "a text that was posted before with a `module`",
                "type": "object",
                "properties": {"digest": {"type": "string", "pattern": DIGEST_PATTERN}},
                "required": ["digest"],
                "additionalProperties": False,
            },
        ]
    },
}
TEXTS_SCHEMA: dict[str, Any] = FILES_SCHEMA | {"additionalProperties": {"type": "string"}}
"""`files` of a program, which names no text by its digest."""
Json: TypeAlias = Any
"""A value as JSON has it, which its reader checks; pydantic would copy each item of it."""
ModuleName = Annotated[
    str,
    Field(
        max_length=MAX_MODULE_CHARS, pattern=r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$"
    ),
]
"""A dotted name of a Python module."""
AbsentModules = Annotated[list[ModuleName], Field(max_length=MAX_ABSENT, fail_fast=True)]
Name = Annotated[str, Field(max_length=MAX_NAME_CHARS)]
"""Name of a parameter, an option or an axis."""
Text = Annotated[str, Field(max_length=MAX_TEXT_CHARS)]
Files = Annotated[
    dict[Annotated[str, Field(max_length=MAX_PATH_CHARS)], Text],
    Field(max_length=MAX_FILES, fail_fast=True),
]
# by value, not by type: generated clients would check the type of a member
_NULL: JsonValue = {"const": None}


def one_of(*names: str) -> dict[str, JsonValue]:
    """Return a JSON schema for exactly one of these members, and not as null.

    As conditions, because generated clients read alternatives (`oneOf`) as separate types.
    """
    first, *others = names
    has_first: dict[str, JsonValue] = {
        "required": [first],
        "properties": {first: {"not": _NULL}},
    }
    if not others:
        return has_first
    without: JsonValue = {"properties": dict.fromkeys(others, _NULL)}
    return {"if": has_first, "then": without, "else": one_of(*others)}


ONE_INPUT = one_of("source", "ir")
TARGET_SCHEMA: dict[str, JsonValue] = {"examples": ["cuda:90", "h100", "hip:gfx942", "mi300x"]}
_JIT_DATA_SCHEMA = {
    "anyOf": [
        {"title": "SpecializationData", "type": "object"},
        {"title": "SpecializationDataText", "type": "string"},
        {"type": "null"},
    ]
}


class IrText(BaseModel):
    """IR that is compiled in place of a source; it defines what its kernel takes."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    language: PostedLanguage
    text: Text = Field(min_length=1, description="an MLIR module with one public tt.func")
    canonicalize: bool = Field(
        default=False,
        description="also run the first passes, for IR taken before them (Triton's `source`)",
    )

    @property
    def stage(self) -> CompiledStage:
        """The stage that the text is."""
        return "source" if self.canonicalize else self.language

    @property
    def path(self) -> str:
        """The file that diagnostics and debug information name."""
        return f"user.{self.language}"


class CompileRequest(BaseModel):
    """Kernel source with a specialization, or IR; options and a target."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        json_schema_extra={"examples": [EXAMPLE], **ONE_INPUT},
    )

    source: Text | None = Field(
        default=None,
        min_length=1,
        description="Python text with at least one @triton.jit kernel",
    )
    ir: IrText | None = Field(default=None, description="instead of `source`: IR as text")
    files: Annotated[Files, WithJsonSchema(FILES_SCHEMA)] = Field(
        default_factory=dict,
        description="further modules the source imports, by path; with `module`, a text that was "
        'posted before may be {"digest": "sha256:..."}',
    )
    module: ModuleName | None = Field(
        default=None,
        description="the source's own dotted name in its package, such as pkg.sub.mod "
        "(pkg.sub.__init__ for a package itself). What it imports and `files` lacks is then asked "
        "for: the compilation fails as `missing_module`, and its `needs` lists the modules",
    )
    absent: AbsentModules = Field(
        default_factory=list,
        description="with `module`: modules that the caller does not have, with all below them",
    )
    kernel: str | None = Field(
        default=None,
        min_length=1,
        max_length=256,
        description="optional if exactly one jit function is not called by another",
    )
    signature: Annotated[Json, WithJsonSchema(_SIGNATURE_SCHEMA)] = Field(
        default=None,
        description="Triton types by parameter name, ':16' = divisible by 16, ':1' = equal to 1; "
        "or triton.tools.compile's string by position",
    )
    hints: dict[Name, Annotated[list[Name], Field(max_length=16, fail_fast=True)]] | None = Field(
        default=None,
        max_length=MAX_PARAMETERS,
        fail_fast=True,
        description="the long form of the suffixes, by parameter name",
    )
    constexprs: dict[Name, Json] | None = Field(
        default=None,
        max_length=MAX_PARAMETERS,
        description="constexpr values by parameter name",
    )
    specialization_data: Annotated[Json, WithJsonSchema(_JIT_DATA_SCHEMA)] = Field(
        default=None,
        description="instead of the three above: the JSON that Triton's JIT gives its hooks",
    )
    target: str = Field(
        max_length=64,
        description="cuda:<capability> or hip:<gfx>; also sm_90, 90, gfx942, or a GPU such as h100",
        json_schema_extra=TARGET_SCHEMA,
    )
    options: dict[Name, Json] = Field(
        default_factory=dict,
        max_length=MAX_OPTIONS,
        description="Triton's option names; see GET /v1/targets",
    )
    triton: str | None = Field(
        default=None,
        max_length=64,
        description="a Triton version that the deployment offers; `3.8` means the newest 3.8.x",
    )
    stop_after: CompiledStage | None = Field(
        default=None, description="default: the target's last stage"
    )
    include: list[CompiledStage] = Field(
        default_factory=list, max_length=8, description="artifacts to inline in the answer"
    )
    priority: Literal["interactive", "batch"] = Field(
        default="interactive", description="batch: after everyone's interactive work"
    )
    timeout_s: Annotated[float, Field(gt=0, le=MAX_TIMEOUT_S, description="of the execution")] = 60
    refresh: bool = Field(
        default=False,
        description="compile again and replace; an attempt that runs already is joined, and "
        "followed by another one if the request still waits",
    )

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {name: value for name, value in data.items() if value is not None}
