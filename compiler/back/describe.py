"""The task that describes this toolchain: versions, digest, and the options it takes."""

import dataclasses
import functools
import hashlib
import importlib.metadata
import inspect
import platform
from types import ModuleType
from typing import Any

import triton
import triton.language
from triton import knobs

from compiler.back import triton_api
from compiler.messages.orders import DescribeOrder
from compiler.messages.reports import LanguageName, ToolchainReport
from compiler.messages.wire import Send

_NUMBERS: dict[str, tuple[int, int | None]] = {
    "num_warps": (1, 32), "num_ctas": (1, 16), "num_stages": (0, 16), "maxnreg": (16, 255),
    "ptx_version": (60, 99), "min_shared_mem": (0, 1 << 20),
    "waves_per_eu": (0, 16), "kpack": (1, 2),
}  # fmt: skip
_CHOICES: dict[str, list[Any]] = {
    "num_warps": [1, 2, 4, 8, 16, 32],
    "num_ctas": [1, 2, 4, 8, 16],
    "matrix_instr_nonkdim": [0, 4, 16, 32],
    "kpack": [1, 2],
    "schedule_hint": ["none", "attention", "memory-bound-attention"],
}
PUBLIC_OPTIONS = {
    "cuda": (
        "num_warps", "num_ctas", "num_stages", "maxnreg", "ptx_version", "min_shared_mem",
        "enable_fp_fusion", "enable_reflect_ftz", "sched4reg", "clc", "launch_cooperative_grid",
        "launch_pdl", "default_dot_input_precision", "debug", "sanitize_overflow",
    ),
    "hip": (
        "num_warps", "num_ctas", "num_stages", "waves_per_eu", "matrix_instr_nonkdim", "kpack",
        "schedule_hint", "allow_flush_denorm", "enable_fp_fusion", "launch_cooperative_grid",
        "debug", "sanitize_overflow",
    ),
}  # fmt: skip
_OPTIONAL = {"maxnreg": "int", "ptx_version": "int", "min_shared_mem": "int"}
_SUMMARY_CHARS = 300
_SIGNATURE_CHARS = 500


def describe(order: DescribeOrder, body: bytes, send: Send) -> ToolchainReport:
    """Return the facts of this toolchain.

    Only options that are safe to take from any caller are listed.
    """
    del order, body, send
    return facts()


@functools.cache
def facts() -> ToolchainReport:
    """Find the facts out. Reads files, so the zygote does it before children lose the right to."""
    ptxas = {
        "default": knobs.nvidia.ptxas.version,
        "blackwell": knobs.nvidia.ptxas_blackwell.version,
    }
    return ToolchainReport(
        triton=triton.__version__,
        record_digest=_record_digest(),
        ptxas="/".join(dict.fromkeys(ptxas.values())),
        ptxas_versions=ptxas,
        python=platform.python_version(),
        host_arch=platform.machine(),
        options={backend: _options(backend) for backend in PUBLIC_OPTIONS},
        language=_language_names(),
    )


def _record_digest() -> str:
    """Return the SHA-256 of the wheel's RECORD, which holds the digest of every installed file."""
    record = importlib.metadata.distribution("triton").read_text("RECORD")
    if record is None:
        message = "the installed Triton has no RECORD: it was not installed from a wheel"
        raise RuntimeError(message)
    return hashlib.sha256(record.encode()).hexdigest()


def _options(backend: str) -> dict[str, Any]:
    fields = {field.name: field for field in dataclasses.fields(triton_api.options_class(backend))}
    if "schedule_hint" in fields and not fields["schedule_hint"].default:
        del fields["schedule_hint"]  # from Triton 3.8 on nothing reads it
    return {
        name: _option(fields[name], backend) for name in PUBLIC_OPTIONS[backend] if name in fields
    }


def _option(field: dataclasses.Field[Any], backend: str) -> dict[str, Any]:
    default = True if field.name == "enable_fp_fusion" else field.default
    minimum, maximum = _NUMBERS.get(field.name, (None, None))
    kind = "bool" if isinstance(default, bool) else type(default).__name__
    return {
        "type": _OPTIONAL.get(field.name, kind),
        "default": default,
        "minimum": minimum,
        "maximum": maximum,
        "choices": _choices(field.name, backend),
    }


def _choices(name: str, backend: str) -> list[Any] | None:
    if name == "default_dot_input_precision":
        return list(triton_api.options_class(backend).allowed_dot_input_precisions)
    return _CHOICES.get(name)


# Names of `triton.language`, for editors that complete `tl.`. Triton itself is asked, so they are
# true of each version that a deployment offers.


def _language_names() -> list[LanguageName]:
    """Return the public names that a kernel may use, in the order of the alphabet."""
    names = [name for name in dir(triton.language) if not name.startswith("_")]
    members = ((name, getattr(triton.language, name)) for name in names)
    return [_described(name, value) for name, value in members if _is_of_the_language(value)]


def _is_of_the_language(value: Any) -> bool:
    if isinstance(value, ModuleType):
        return False
    home = value.__module__ if inspect.isclass(value) else type(value).__module__
    # functions are Python's, and only those of the language are in it
    return inspect.isfunction(value) or home.startswith("triton.")


def _described(name: str, value: Any) -> LanguageName:
    function = getattr(value, "fn", value)  # of a JITFunction
    is_called = inspect.isfunction(function) or inspect.isclass(function)
    text = inspect.getdoc(function) if is_called else None
    summary = " ".join((text or "").replace(":code:", "").split("\n\n")[0].split())
    return LanguageName(
        name=name,
        signature=_signature(function)[:_SIGNATURE_CHARS] if is_called else None,
        summary=summary[:_SUMMARY_CHARS],
    )


def _signature(function: Any) -> str:
    """Return the signature for kernels: without parameters that the compiler passes itself."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of a class whose signature Python does not know
        return "(...)"
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for name, parameter in signature.parameters.items()
        if not name.startswith("_") and name != "self"
    ]
    return str(inspect.Signature(parameters)).replace("constexpr[", "[")
