"""NumPy code exists for all of libdevice that Triton names."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from compiler.ttir_to_numpy.external_functions import template_of
from compiler.ttir_to_numpy.runtime import (
    conversions,
    integer_ops,
    number_ops,
    rounding,
    special_functions,
)

_ENTRY = re.compile(
    r'\(((?:core\.dtype\("\w+"\), ?)*(?:core\.dtype\("\w+"\),? ?))\): ?\( ?"(\w+)", '
    r'core\.dtype\("(\w+)"\)'
)
DTYPES = {
    "int32": np.int32, "uint32": np.int32, "int64": np.int64, "uint64": np.int64,
    "fp32": np.float32, "fp64": np.float64,
}  # fmt: skip
NAMES = {"np": np}
for _module in (number_ops, conversions, rounding, special_functions, integer_ops):
    NAMES |= vars(_module)


def named_by_triton(maker: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the libdevice symbols of the installed Triton for a vendor, with argument types."""
    found = importlib.util.find_spec("triton")
    assert found is not None
    assert found.origin is not None
    path = Path(found.origin).parent / "language/extra" / maker / "libdevice.py"
    entries = _ENTRY.findall(re.sub(r"\s+", " ", path.read_text()))
    return sorted({(symbol, tuple(re.findall(r'"(\w+)"', types))) for types, symbol, _ in entries})


@pytest.mark.parametrize("maker", ["cuda", "hip"])
def test_every_function_is_reported_and_runs_in_any_shape(maker: str) -> None:
    entries = named_by_triton(maker)
    random = np.random.default_rng(0)

    assert len(entries) > 50
    for symbol, types in entries:
        template = template_of(symbol, len(types))
        assert template is not None, symbol
        for shape in ((), (5,), (2, 3)):
            values = {
                f"v{place}": (random.random(shape) * 3).astype(DTYPES[type_])[()]
                for place, type_ in enumerate(types)
            }
            with np.errstate(all="ignore"):
                made = eval(template.format(*values), NAMES, values)
            assert np.shape(made) == shape, symbol


@pytest.mark.parametrize(
    ("symbol", "arguments", "wanted"),
    [
        ("__nv_fadd_rd", (np.float32(1), np.float32(1e-20)), 1.0),
        ("__nv_fadd_ru", (np.float32(1), np.float32(1e-20)), 1 + 2.0**-23),
        ("__nv_float2int_rn", (np.float32(2.5),), 2),
        ("__nv_float2uint_ru", (np.float32(3e9),), 3_000_000_000 - 2**32),
        ("__nv_double2float_rz", (np.float64(0.1),), float(np.float32(0.1)) - 2.0**-27),
        ("__nv_uint2float_rz", (np.int32(-1),), 2.0**32 - 256),
        ("__nv_ll2double_rd", (np.int64(2**53 + 1),), 2.0**53),
        ("__nv_drcp_ru", (np.float64(3),), float(np.nextafter(1 / 3, 1))),
        ("__nv_fmul_rn", (np.float32(3), np.float32(0.5)), 1.5),
        ("__nv_rhypot", (np.float64(3), np.float64(4)), 0.2),
        ("__nv_llround", (np.float64(-2.5),), -3),
        ("__nv_umax", (np.int32(-1), np.int32(1)), -1),
        ("__nv_isnanf", (np.float32(np.nan),), 1),
        ("__ocml_exp_f32", (np.float32(0),), 1.0),
        ("__nv_fast_powf", (np.float32(2), np.float32(3)), 8.0),
        ("__nv_mul24", (np.int32(-3), np.int32(5)), -15),
    ],
)
def test_functions_mean_what_cuda_says(
    symbol: str, arguments: tuple[object, ...], wanted: float
) -> None:
    template = template_of(symbol, len(arguments))
    assert template is not None
    values = {f"v{place}": value for place, value in enumerate(arguments)}

    assert eval(template.format(*values), NAMES, values) == wanted


@pytest.mark.parametrize(("symbol", "operands"), [("__nv_nothing", 1), ("__nv_sinf", 2), ("", 0)])
def test_others_are_unknown(symbol: str, operands: int) -> None:
    assert template_of(symbol, operands) is None
