"""The `compilation` of a launch: a compile request that need not say what to compile for.

The CPU device runs a kernel without machine code, so nothing of its answer hangs on a target but
what the kernel itself asks of it; the service fills in the toolchain's own default then.
"""

from typing import Any

from pydantic import ConfigDict, Field

from compiler.request.compile_request import EXAMPLE, ONE_INPUT, TARGET_SCHEMA, CompileRequest


class LaunchedKernel(CompileRequest):
    """As POST /v1/compilations takes it; signature and, on the CPU device, target may be left out.

    What is left out is inferred from the arguments, or is the toolchain's own default.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{name: EXAMPLE[name] for name in ("source", "constexprs")}],
            "oneOf": ONE_INPUT,
        }
    )

    target: str = Field(
        default="",
        max_length=64,
        description="cuda:<capability> or hip:<gfx>; may be left out on the CPU device",
        json_schema_extra=TARGET_SCHEMA,
    )

    @property
    def has_target(self) -> bool:
        """True if the request names a target."""
        return "target" in self.model_fields_set

    def for_target(self, target: str) -> CompileRequest:
        """Return the compile request that this is for `target`, where it names none itself."""
        said: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set}
        return CompileRequest.model_validate({"target": target} | said)
