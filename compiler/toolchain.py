"""A toolchain: one Triton with its assemblers and our pipeline, as workers describe it.

Its id is part of every key, so whatever can change an artifact must change the id: Triton and its
tools, the options, the sandbox of children, and our own code: see `toolchain_id`.
"""

import hashlib
import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from compiler.messages.reports import LanguageName
from compiler.target import usual_target


class OptionSpec(BaseModel):
    """One compile option: its type, default and range; a null default is Triton's own choice."""

    model_config = ConfigDict(frozen=True)

    type: Literal["int", "bool", "str", "float"]
    default: int | bool | str | float | None = None
    minimum: int | None = None
    maximum: int | None = None
    choices: list[int | str] | None = None


class Toolchain(BaseModel):
    """A worker's registration of a toolchain; the service knows compilers only by it."""

    model_config = ConfigDict(frozen=True)

    id: str
    triton: str
    ptxas: str
    host_arch: str
    targets: list[str]
    options: dict[str, dict[str, OptionSpec]]
    """By backend, then by option name."""
    sandbox: str
    """The level its children run under: standard, strict, weak or unsafe."""
    language: list[LanguageName] = Field(default_factory=list)
    """The names of its `triton.language`; empty when its worker did not report them yet."""

    @property
    def default_target(self) -> str:
        """The default target of kernels that only run on a CPU: cuda:90 if it is available."""
        return usual_target(self.targets)


def toolchain_id(description: dict[str, Any]) -> str:
    """Return the id of a toolchain: 16 hex digits over the JSON of all that makes it.

    `worker/compile/toolchain_identity.py` collects that: the members of `ToolchainReport` except
    `language`, the targets that a small kernel compiles for, `policy` (a digest of
    the permissions of children, from `worker/sandbox/profile.py`) and `pipeline` (a digest of our
    code, from `worker/code_digest.py`).
    """
    text = json.dumps(description, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
