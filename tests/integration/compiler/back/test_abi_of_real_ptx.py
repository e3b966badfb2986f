"""The computed ABI has exactly the parameters that the real PTX declares."""

from __future__ import annotations

import pytest

from compiler.abi import abi_of
from compiler.compilation import Parameter
from compiler.target import Target
from tests.cases import slow_except
from tests.integration.compiler.children import Children
from tests.integration.compiler.kernels import KERNELS, compile_kernel, read

CASES = [
    (name, arch) for name in ("vector_add", "matmul", "tensor_descriptor") for arch in (80, 90, 100)
]
QUICK = [("vector_add", 80), ("tensor_descriptor", 90), ("matmul", 100)]


@pytest.mark.parametrize(("name", "arch"), slow_except(QUICK, CASES))
def test_parameters_are_those_of_the_ptx(children: Children, name: str, arch: int) -> None:
    kernel = read(KERNELS / "good" / f"{name}.py")
    compiled = compile_kernel(children, kernel, arch, "ptx")
    assert compiled.back is not None
    parameters = [
        Parameter(name=parameter, type=kind, role="runtime", hints=[], value=None)
        for parameter, kind in kernel.request["signature"].items()
    ]
    metadata = compiled.back["metadata"]

    abi = abi_of(Target("cuda", arch, 32), parameters, metadata)

    sizes = [parameter.size_bytes for parameter in abi.parameters]
    assert sizes == metadata["parameter_sizes_bytes"]
    assert compiled.stages["ptx"].decode().count(".param .") == len(sizes)
    assert abi.parameters[-1].kind == "profile_scratch"
