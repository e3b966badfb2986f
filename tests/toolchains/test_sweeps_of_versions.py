"""One sweep over every Triton that is offered."""

from __future__ import annotations

import httpx

from tests.integration.service import bodies
from tests.sweeps.service.test_sweeps import post_sweep


def test_a_kernel_is_compiled_by_each_triton_of_an_axis(
    client: httpx.Client, pythons: dict[str, str]
) -> None:
    space = {"tritons": [*pythons, "3.9.0"], "targets": ["cuda:90", "hip:gfx942"]}

    sweep = post_sweep(client, base=bodies.vector_add("each Triton"), space=space).json()

    assert sweep["counts"] == {"succeeded": 2 * len(pythons) + 2}, sweep
    for row in sweep["rows"]:
        compilation = client.get(row["compilation_url"]).json()
        assert compilation["toolchain"]["triton"] == row["values"]["triton"]
        assert compilation["target"] == row["values"]["target"]
