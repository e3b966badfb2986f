"""CUDA errors, named as verdicts name them."""

import pytest

from worker.gpu.launcher.fault import MESSAGES, GpuFault, fault_of, leaves_context


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        ("CUDA_ERROR_ILLEGAL_ADDRESS", GpuFault.ILLEGAL_ACCESS),
        ("CUDA_ERROR_MISALIGNED_ADDRESS", GpuFault.MISALIGNED_ACCESS),
        ("CUDA_ERROR_ASSERT", GpuFault.ASSERTION_FAILED),
        ("CUDA_ERROR_OUT_OF_MEMORY", GpuFault.OUT_OF_MEMORY),
        ("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", GpuFault.DOES_NOT_FIT),
        ("CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", GpuFault.DOES_NOT_FIT),
        ("CUDA_ERROR_ILLEGAL_INSTRUCTION", GpuFault.CRASHED),
    ],
)
def test_errors_have_the_names_of_verdicts(error, fault):
    assert fault_of(error) is fault


def test_an_error_of_the_machine_is_no_fault_of_the_kernel():
    assert fault_of("CUDA_ERROR_ECC_UNCORRECTABLE") is None
    assert fault_of("CUDA_ERROR_NOT_INITIALIZED") is None


def test_only_what_never_ran_or_was_found_afterwards_leaves_the_context():
    assert {fault for fault in GpuFault if leaves_context(fault)} == {
        GpuFault.DOES_NOT_FIT, GpuFault.OUT_OF_MEMORY, GpuFault.OUT_OF_BOUNDS,
    }  # fmt: skip


def test_every_fault_of_the_driver_has_words():
    assert set(GpuFault) - set(MESSAGES) == {GpuFault.OUT_OF_BOUNDS}  # a finding of another name
