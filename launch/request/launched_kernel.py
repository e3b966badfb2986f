"""The `compilation` of a launch: a compile request without a mandatory target.

The CPU device runs a kernel without machine code, so its results depend on the target only where
the kernel itself queries it. Without a target, the service takes the toolchain's default.
"""

from typing import Any

from pydantic import ConfigDict, Field

from compiler.request.compile_request import EXAMPLE, ONE_INPUT, TARGET_SCHEMA, CompileRequest


class LaunchedKernel(CompileRequest):
    """The body of POST /v1/compilations, but with an optional signature and, on the CPU, target.

    The signature is inferred from the arguments; the target is the toolchain's default.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{name: EXAMPLE[name] for name in ("source", "constexprs")}],
            **ONE_INPUT,
        }
    )

    target: str = Field(
        default="",
        max_length=64,
        description="cuda:<capability> or hip:<gfx>; optional on the CPU device",
        json_schema_extra=TARGET_SCHEMA,
    )

    @property
    def has_target(self) -> bool:
        """True if the request names a target."""
        return "target" in self.model_fields_set

    def for_target(self, target: str) -> CompileRequest:
        """Return this compile request, for `target` if it names none."""
        present: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set}
        return CompileRequest.model_validate({"target": target} | present)
