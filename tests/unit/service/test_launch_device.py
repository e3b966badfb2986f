"""Device and lane of a launch, and kernels that cannot run there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from compiler.job import CompileJob
from compiler.rejection import RequestRejected
from launch.request.launch_record import Device
from launch.request.launch_request import LaunchRequest
from launch.request.launch_resolution import resolve_launch
from service.launches.launch_device import choose_device
from service.state import ServiceState

H200, A100 = "cuda:90 NVIDIA H200", "cuda:80 NVIDIA A100"
KEY = "0" * 64
NUMPY = {"source": "def reference(): ..."}
TORCH = NUMPY | {"language": "torch"}


def kernel(**changes: Any) -> CompileJob:
    usual = {"source": "...", "target_name": "cuda:90", "stop_after": "cubin", "toolchain_id": "t1"}
    return CompileJob.model_construct(**(usual | changes))


def fake_deployment(*devices: str, references: dict[str, list[str]] | None = None) -> ServiceState:
    """Return a fake deployment without a store: only its workers are known."""

    async def known_devices() -> list[str]:
        return list(devices)

    async def known_references() -> dict[str, list[str]]:
        return references or {}

    async def find(_toolchain_id: str) -> Any:
        return SimpleNamespace(triton="3.9.0")

    workers = SimpleNamespace(known_devices=known_devices, known_references=known_references)
    return cast(
        "ServiceState", SimpleNamespace(workers=workers, toolchains=SimpleNamespace(find=find))
    )


async def where(
    deployment: ServiceState,
    job: CompileJob | None = None,
    other: CompileJob | None = None,
    **body: Any,
) -> tuple[Device, str]:
    usual = {
        "compilation": {"source": "...", "target": "cuda:90"},
        "grid": [1],
        "arguments": {"x": {"shape": [1], "dtype": "i8", "output": True}},
    }
    resolved = resolve_launch(LaunchRequest.model_validate(usual | body))
    return await choose_device(deployment, resolved, job or kernel(), {KEY: other} if other else {})


async def refused(
    deployment: ServiceState, *jobs: CompileJob | None, **body: Any
) -> tuple[str, str]:
    with pytest.raises(RequestRejected) as rejected:
        await where(deployment, *jobs, **body)
    [error] = rejected.value.errors
    return error.pointer, error.message


async def test_a_launch_goes_to_a_gpu_of_its_target() -> None:
    device, lane = await where(fake_deployment(A100, H200))

    assert (device.target, device.model, device.interpreter) == ("cuda:90", "NVIDIA H200", False)
    assert lane == "launch:cuda:90 NVIDIA H200"


async def test_without_such_a_gpu_it_goes_to_the_cpu_device() -> None:
    device, lane = await where(fake_deployment(A100))

    assert device == Device(target=None, interpreter=True)
    assert lane == "launch:interpreter:t1"


async def test_a_device_may_be_written_as_triton_writes_targets() -> None:
    device, _ = await where(fake_deployment(H200), device={"target": "cuda:90:32"})

    assert device.model == "NVIDIA H200"


async def test_a_device_that_no_worker_has_is_refused() -> None:
    wanted = {"target": "cuda:90", "model": "NVIDIA H100"}

    pointer, message = await refused(fake_deployment(H200), device=wanted)

    assert pointer == "/device"
    assert H200 in message


async def test_ir_goes_to_the_cpu_where_there_is_no_such_gpu() -> None:
    ir = kernel(source=None)

    assert (await where(fake_deployment(), ir))[0].interpreter
    assert (await where(fake_deployment(H200), ir, device="cpu"))[0].interpreter
    assert not (await where(fake_deployment(H200), ir))[0].interpreter


async def test_the_old_name_of_the_cpu_device_is_the_cpu_device() -> None:
    named = [(await where(fake_deployment(H200), device=name)) for name in ("cpu", "interpreter")]

    assert named[0] == named[1] == (Device(target=None, interpreter=True), "launch:interpreter:t1")


async def test_gpu_is_any_gpu_of_the_target_and_no_cpu() -> None:
    assert (await where(fake_deployment(A100, H200), device="gpu"))[0].model == "NVIDIA H200"

    pointer, message = await refused(fake_deployment(A100), device="gpu")

    assert pointer == "/device"
    assert A100 in message


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"target_name": "cuda:80"}, "was compiled for cuda:80, and cannot run on cuda:90"),
        ({"stop_after": "ptx"}, "was compiled only up to ptx"),
    ],
)
async def test_a_binary_that_does_not_run_there_is_refused(
    changes: dict[str, Any], said: str
) -> None:
    deployment, case = fake_deployment(H200), {"reference": {"compilation_key": KEY}}
    by_key = {"compilation": None, "compilation_key": KEY, "device": {"target": "cuda:90"}}

    launched = await refused(deployment, kernel(**changes), **by_key)
    reference = await refused(deployment, None, kernel(**changes), cases=[case])

    assert launched[0] == "/compilation_key"
    assert reference[0] == "/cases/0/reference/compilation_key"
    assert said in launched[1]
    assert said in reference[1]


async def test_references_in_torch_have_a_lane_of_their_own() -> None:
    known = {"t1": ["numpy", "torch"], H200: ["numpy", "torch"]}
    on_gpu, elsewhere = fake_deployment(H200, references=known), fake_deployment(references=known)

    assert (await where(on_gpu, reference=TORCH))[1] == "launch:cuda:90 NVIDIA H200:torch"
    assert (await where(elsewhere, reference=TORCH))[1] == "launch:interpreter:t1:torch"
    assert (await where(elsewhere, reference=NUMPY))[1] == "launch:interpreter:t1"


async def test_torch_is_refused_where_only_others_have_it() -> None:
    known = {"t1": ["numpy", "torch"], H200: ["numpy"]}
    cases = [{"reference": NUMPY}, {"reference": TORCH}]

    pointer, message = await refused(fake_deployment(H200, references=known), cases=cases)

    assert pointer == "/cases/1/reference/language"
    assert "no worker has torch" in message


async def test_a_toolchain_without_a_cpu_device_is_refused_where_another_has_one() -> None:
    pointer, message = await refused(
        fake_deployment(references={"t1": ["numpy"]}), kernel(toolchain_id="t2")
    )

    assert pointer == "/compilation/triton"
    assert "offered: 3.9.0" in message
