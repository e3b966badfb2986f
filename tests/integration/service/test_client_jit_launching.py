"""A jit function launched on the service like in Triton, with arrays and a grid."""

from __future__ import annotations

import numpy as np
import pytest
import tritonc
from triton import cdiv

from tests.integration.service import jit_kernels
from tests.integration.service.running import Deployment


def test_a_function_its_module_its_grid_and_a_transposed_array(system: Deployment) -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4).T
    y = np.zeros((4, 3), np.float32)

    with tritonc.Client(system.url) as client:
        launch = client.launch(
            jit_kernels.scale,
            arguments={
                "x_ptr": x, "y_ptr": y, "rows": 4, "columns": 3, "x_row": 1, "x_column": 4,
                "BLOCK": 8, "num_warps": 2,
            },
            grid=lambda meta: (cdiv(meta["rows"] * meta["columns"], meta["BLOCK"]),),
            device="cpu",
            returns={"y_ptr": "values"},
        )  # fmt: skip

    assert launch.good
    assert launch.outputs["y_ptr"].values == (2 * x).tolist()


def test_heuristics_and_the_only_configuration_are_worked_out(system: Deployment) -> None:
    x, y = np.zeros(4, np.float32), np.zeros(4, np.float32)

    with tritonc.Client(system.url) as client:
        even, odd = (
            client.launch(
                jit_kernels.shifted,
                arguments=[x, y, n],
                grid=(1,),
                device="cpu",
                returns={"y_ptr": "values"},
            )
            for n in (4, 3)
        )

    assert even.outputs["y_ptr"].values == [100.0] * 4
    assert odd.outputs["y_ptr"].values == [0.0] * 4


async def test_in_a_batch_and_awaited(system: Deployment) -> None:
    requests = [
        tritonc.launch_request(
            jit_kernels.tuned,
            arguments=[np.zeros(32, np.float32)],
            constexprs={"BLOCK": block},
            grid=1,
            device="cpu",
            returns={"x_ptr": "summary"},
        )
        for block in (32, 64)
    ]

    async with tritonc.AsyncClient(system.url) as client:
        batch = await client.batches.launch(requests)

    verdicts = [
        item.result.verdict for item in batch.items if isinstance(item.result, tritonc.Launch)
    ]
    assert verdicts == ["not_checked", "out_of_bounds"]


def test_of_several_configurations_one_is_to_be_chosen() -> None:
    with pytest.raises(TypeError, match=r"tuned has 2 configurations .* by giving BLOCK"):
        tritonc.launch_request(jit_kernels.tuned, arguments=[np.zeros(4)], grid=(1,))


def test_more_arguments_than_parameters_are_reported() -> None:
    with pytest.raises(TypeError, match="tuned takes 2 arguments, not 3"):
        tritonc.launch_request(jit_kernels.tuned, arguments=[1, 2, 3], grid=(1,))


def test_a_function_is_no_grid_of_a_text() -> None:
    with pytest.raises(TypeError, match="a grid must be a list of numbers and expressions"):
        tritonc.launch_request("import triton", arguments={}, grid=lambda meta: (1,))
