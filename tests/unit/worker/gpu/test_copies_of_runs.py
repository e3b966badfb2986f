"""The reference copy of timed runs lies in GPU memory too, so the launcher guards it.

Kernels of the fake CUDA find the copy; a real kernel would have to guess its address.
"""

import pytest

from tests.unit.worker.gpu import fake_cuda
from tests.unit.worker.gpu.test_every_run import BYTES, KERNELS, double, gpu, of_module, run

__all__ = ["gpu", "run"]  # fixtures


def forges(gpu, pointers, grid):
    """Do the work once; then make the copy equal to outputs that are never written again."""
    runs = of_module(gpu)
    if runs[0] == 0:
        double(gpu, pointers, grid)
        gpu.calls.clear()
    else:
        copy = next(at for kind, at, size in gpu.calls if (kind, size) == ("copy", BYTES))
        output = gpu.memory(fake_cuda.pointer(pointers, 1), BYTES)
        gpu.memory(copy, BYTES, write=True)[:] = output
    runs += 1


@pytest.fixture(autouse=True)
def kernels(monkeypatch):
    monkeypatch.setitem(KERNELS, b"forges", forges)


@pytest.mark.parametrize("fresh", [False, True])
def test_a_kernel_that_changes_what_it_is_compared_with_is_reported(run, fresh):
    found = run("forges", fresh_inputs=fresh)

    assert found.differing_repeats == 0  # this is why
    [finding] = found.findings
    assert (finding["kind"], finding["access"]) == ("out_of_bounds", "write")
    assert "copies of the first run's outputs" in finding["message"]


@pytest.mark.parametrize("fresh", [False, True, "values"])
def test_the_copies_of_an_honest_kernel_stay_as_they_are(run, fresh):
    assert run("double", fresh_inputs=fresh).findings == []
