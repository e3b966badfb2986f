"""A compile job: one request resolved against one toolchain, as service and worker exchange it.

Both sides of the queue read it with this class, so that there is no drift between them.
"""

from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from compiler.request.compile_request import IrText
from compiler.specialization import Specialization
from compiler.target import Target, parse_target

SOURCE_PATH = "user.py"


class CompileJob(BaseModel):
    """Everything a compilation depends on, and how long it may take."""

    model_config = ConfigDict(frozen=True)

    key: str
    namespace: str
    source: str | None
    module: str | None = None
    ir: IrText | None = None
    files: dict[str, str]
    absent: list[str] = Field(default_factory=list)
    kernel: str | None
    specialization_json: dict[str, Any]
    options: dict[str, Any]
    target_name: str
    stop_after: str
    toolchain_id: str
    timeout_s: float

    @cached_property
    def target(self) -> Target:
        """The parsed target."""
        return parse_target(self.target_name)

    @cached_property
    def specialization(self) -> Specialization:
        """The parsed specialization."""
        return Specialization.from_json(self.specialization_json)

    @property
    def texts(self) -> dict[str, str]:
        """The posted texts, by the paths in diagnostics."""
        if self.ir is not None:
            return {self.ir.path: self.ir.text}
        return {SOURCE_PATH: self.source or "", **self.files}

    def as_request(self) -> dict[str, Any]:
        """Return a request for this job: the posted one, with resolved options."""
        common = {
            "target": self.target_name,
            "options": self.options,
            "stop_after": self.stop_after,
        }
        if self.ir is not None:
            return {"ir": self.ir.model_dump(), **common}
        packaged = {"module": self.module, "absent": self.absent} if self.module else {}
        return {
            "source": self.source,
            **packaged,
            "files": self.files,
            "kernel": self.kernel,
            **self.specialization.to_request(),
            **common,
        }
