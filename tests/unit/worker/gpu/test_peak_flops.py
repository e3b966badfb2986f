"""Peak operations per second of GPUs, from the table."""

import pytest

from worker.gpu.timing_integrity.peak_flops import peak_flops


@pytest.mark.parametrize(
    ("capability", "multiprocessors", "clock_hz", "kind", "specified"),
    [
        ((9, 0), 132, 1.83e9, "fp16", 989.4e12),  # H100 SXM at its clock under tensor load
        ((9, 0), 132, 1.98e9, "fp32", 66.9e12),
        ((8, 0), 108, 1.41e9, "tf32", 156e12),  # A100
        ((8, 9), 142, 2.52e9, "fp8", 733e12),  # L40S
        ((7, 0), 80, 1.53e9, "fp16", 125e12),  # V100
    ],
)
def test_the_table_agrees_with_the_data_sheets(
    capability: tuple[int, int], multiprocessors: int, clock_hz: float, kind: str, specified: float
) -> None:
    found = peak_flops(capability, multiprocessors, clock_hz)

    assert found[kind] == pytest.approx(specified, rel=0.01)


def test_an_unknown_architecture_has_no_peak() -> None:
    assert peak_flops((99, 0), 100, 1e9) == {}
