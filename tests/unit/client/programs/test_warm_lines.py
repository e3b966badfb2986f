"""`tritonc warm` writes a line for each kernel, whatever its specializations."""

from __future__ import annotations

from tritonc.cli.programs.warm_command import summary_lines


def test_specializations_of_a_kernel_share_its_line() -> None:
    add, scale = (
        {"kernel": name, "target": "cuda:90", "triton": "3.9.0"} for name in ("add", "scale")
    )

    assert list(summary_lines([add, scale, add], "model.py", "model.tar")) == [
        "add for cuda:90, Triton 3.9.0, 2 specializations",
        "scale for cuda:90, Triton 3.9.0",
        "2 kernels of model.py in model.tar",
    ]
