"""The compilers of Compiler Explorer's API: each is a target of an available Triton."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.stages import BY_NAME
from compiler.target import BACKENDS, parse_target, usual_target

LANGUAGE = "triton"
EXAMPLE = """import triton
import triton.language as tl


@triton.jit
def add_kernel(
    x_ptr: "*fp32:16", y_ptr: "*fp32:16", output_ptr: "*fp32:16", n_elements: "i32",
    BLOCK_SIZE: tl.constexpr = 1024,
):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, x + y, mask=mask)
"""
"""The example that plug-ins start with: a kernel that compiles without arguments."""
LANGUAGES: Sequence[dict[str, Any]] = (
    {
        "id": LANGUAGE,
        "name": "Triton",
        "extensions": [".py"],
        "monaco": "python",
        "logoUrl": None,
        "logoUrlDark": None,
        "formatter": None,
        "example": EXAMPLE,
        "defaultCompiler": None,
    },
)
_FIRST_FIELDS = ("id", "name", "lang", "compilerType", "semver", "extensions", "monaco")


@dataclass(frozen=True, slots=True)
class OfferedCompiler:
    """One target of one Triton."""

    id: str
    triton: str
    target: str
    is_default: bool

    def described(self, fields: Sequence[str] = ()) -> dict[str, Any]:
        """Return the requested `fields`, `("all",)` for all; by default the usual ones."""
        backend = parse_target(self.target).backend
        every = {
            "id": self.id,
            "name": f"Triton {self.triton} {self.target}",
            "lang": LANGUAGE,
            "compilerType": "triton",
            "semver": self.triton,
            "extensions": [".py"],
            "monaco": "python",
            "instructionSet": BACKENDS[backend].instruction_set,
            "group": backend,
            "groupName": backend,
            "supportsBinary": backend in BY_NAME["sass"].backends,
            "supportsExecute": False,
            "supportsBinaryObject": False,
            "supportsLibraryCodeFilter": False,
            "supportsDemangle": False,
            "supportsIntel": False,
            "disabledFilters": [],
            "libs": {},
            "tools": {},
            "options": "",
            "alias": [],
            "isDefault": self.is_default,
        }
        if "all" in fields:
            return every
        # the plug-ins read the instruction set without asking for it
        wanted = fields or (*_FIRST_FIELDS, "instructionSet")
        return {name: every[name] for name in wanted if name in every}


def described_languages(compilers: Sequence[OfferedCompiler]) -> list[dict[str, Any]]:
    """Return the languages with their default compilers."""
    default = next((compiler.id for compiler in compilers if compiler.is_default), None)
    return [language | {"defaultCompiler": default} for language in LANGUAGES]


def offered_compilers(targets: Mapping[str, Any]) -> list[OfferedCompiler]:
    """Return all compilers, the default Triton's first; each version has one toolchain.

    `targets` is the answer of `GET /v1/targets`.
    """
    known = targets["toolchains"]
    default: Any = next((toolchain for toolchain in known if toolchain["default"]), None)
    by_version: dict[str, Any] = {toolchain["triton"]: toolchain for toolchain in known}
    if default is not None:
        version = default["triton"]
        by_version = {version: default} | by_version | {version: default}
    return [
        OfferedCompiler(
            id=compiler_id(version, target),
            triton=version,
            target=target,
            is_default=toolchain is default and target == usual_target(toolchain["targets"]),
        )
        for version, toolchain in by_version.items()
        for target in toolchain["targets"]
    ]


def compiler_id(triton: str, target: str) -> str:
    """Return the id of a compiler for URLs, such as `triton3.9.0-cuda90`."""
    return f"triton{triton}-{target.replace('hip:', '').replace(':', '')}"


def as_text(compilers: Sequence[OfferedCompiler]) -> str:
    """Return a heading and one line for each compiler."""
    rows = [(compiler.id, compiler.described()["name"]) for compiler in compilers]
    width = max((len(row[0]) for row in rows), default=0)
    return "".join(f"{row[0]:<{width}} | {row[1]}\n" for row in [("Compiler Name", "Name"), *rows])
