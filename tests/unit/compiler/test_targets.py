"""Targets as Triton writes them."""

from dataclasses import replace
from typing import get_args

import pytest
from tritonc.gate.metric_budget import BACKENDS as METRIC_BACKENDS
from tritonc.target_names import TARGET_OF_GPU as CLIENTS_GPUS
from tritonc.target_names import target_name

from compiler.back.describe import PUBLIC_OPTIONS
from compiler.rejection import RequestRejected
from compiler.stages import STAGES
from compiler.target import (
    ARCHITECTURES,
    BACKENDS,
    BY_NAME,
    STANDARD_TARGET,
    TARGET_OF_GPU,
    Architecture,
    Backend,
    Feature,
    Target,
    parse_target,
    with_feature,
)

WITHOUT_LIMITS = {"cuda:60", "cuda:61", "cuda:62", "cuda:107", "hip:gfx1251"}
"""No public document lists their limits."""
WITHOUT_PTX_VERSION = {"cuda:60", "cuda:61", "cuda:62", "cuda:107"}
"""Triton does not compile for them, or NVIDIA's PTX reference does not list them."""
WITHOUT_PEAK = WITHOUT_PTX_VERSION | {
    "cuda:72", "cuda:88", "cuda:101", "cuda:103", "cuda:110", "cuda:121"
}  # fmt: skip
"""No white paper lists their operations per clock."""
TARGETS = {
    "cuda:90": Target("cuda", 90, 32),
    "cuda:90:32": Target("cuda", 90, 32),
    "cuda:120": Target("cuda", 120, 32),
    "hip:gfx942": Target("hip", "gfx942", 64),
    "hip:gfx942:64": Target("hip", "gfx942", 64),
    "hip:gfx90a": Target("hip", "gfx90a", 64),
    "hip:gfx1100": Target("hip", "gfx1100", 32),
}


@pytest.mark.parametrize(("written", "target"), TARGETS.items())
def test_a_target_is_read_with_its_warp_size(written: str, target: Target):
    assert parse_target(written) == target


@pytest.mark.parametrize(
    ("written", "target"),
    [
        ("sm_90", "cuda:90"), ("sm90a", "cuda:90"), ("90", "cuda:90"), ("h100", "cuda:90"),
        ("H200", "cuda:90"), ("RTX 4090", "cuda:89"), ("gfx942", "hip:gfx942"),
        ("mi300x", "hip:gfx942"), ("MI300X", "hip:gfx942"),
    ],
)  # fmt: skip
def test_other_names_of_a_target_are_read_as_its_own(written: str, target: str):
    assert str(parse_target(written)) == target_name(written) == target


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("cuda:sm_90", "cuda:90"), ("cuda:h100", "cuda:90"), ("hip:mi300x", "hip:gfx942"),
        ("cuda:9O", "cuda:90"), ("mi300", "hip:gfx942"), ("CUDA:90", "cuda:90"),
        ("h1000", "cuda:90"),
    ],
)  # fmt: skip
def test_what_is_nearly_a_target_is_answered_with_the_one_that_was_meant(written: str, meant: str):
    with pytest.raises(RequestRejected, match=rf"is not a target\. Did you mean {meant}\?"):
        parse_target(written)


def test_another_number_resembles_no_target():
    with pytest.raises(RequestRejected, match=r"is not a target\. Write cuda:<capability>"):
        parse_target("cuda:1")


def test_every_gpu_that_has_a_name_has_a_row():
    assert set(TARGET_OF_GPU.values()) <= set(BY_NAME)
    assert TARGET_OF_GPU == CLIENTS_GPUS


def test_a_target_is_shown_without_its_warp_size():
    assert str(parse_target("cuda:90:32")) == "cuda:90"
    assert str(parse_target("hip:gfx942:64")) == "hip:gfx942"


@pytest.mark.parametrize(
    "written",
    ["", "cuda", "cuda:", "cuda:9", "cuda:sm_90", "9", "sm_9", "h1000", "cuda:90:16", "cuda:90 ",
     "CUDA:90", "cuda:90\n", "cuda:\N{ARABIC-INDIC DIGIT NINE}0", "hip:942", "hip:gfx", "xpu:1",
     "\0"],
)  # fmt: skip
def test_an_invalid_target_is_refused_with_examples(written: str):
    with pytest.raises(RequestRejected) as rejected:
        parse_target(written)

    [error] = rejected.value.errors
    assert error.pointer == "/target"
    assert "cuda:90" in error.message
    assert "hip:gfx942" in error.message


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("cuda:90:64", "/target: cuda:90 has warps of 32 threads, not 64"),
        ("hip:gfx942:32", "/target: hip:gfx942 has warps of 64 threads, not 32"),
        ("hip:gfx1100:64", "/target: hip:gfx1100 has warps of 32 threads, not 64"),
    ],
)
def test_a_warp_size_that_the_target_has_not_is_refused(written: str, message: str):
    with pytest.raises(RequestRejected) as rejected:
        parse_target(written)

    assert str(rejected.value) == message


def missing(row: Architecture) -> list[str]:
    """Return what a row lacks, in words."""
    is_cuda = row.backend == "cuda"
    needed = {
        "a backend": row.backend in BACKENDS,
        "limits of a multiprocessor": row.multiprocessor is not None or row.name in WITHOUT_LIMITS,
        "a first PTX version": not is_cuda
        or row.first_ptx_version is not None
        or row.name in WITHOUT_PTX_VERSION,
        "operations per clock": not is_cuda or row.flops_per_clock or row.name in WITHOUT_PEAK,
        "only features that there are": row.features <= {*get_args(Feature)},
        "the features of earlier ones": all(
            feature in row.features
            for feature in get_args(Feature)
            for name in with_feature(feature, "cuda")[:1]
            if is_cuda and parse_target(name).arch <= parse_target(row.name).arch
        ),
    }
    return [name for name, is_there in needed.items() if not is_there]


@pytest.mark.parametrize("row", ARCHITECTURES, ids=lambda row: row.name)
def test_a_row_is_complete(row: Architecture):
    assert missing(row) == []


def test_a_new_target_is_reported_with_its_gaps():
    assert missing(Architecture("cuda:130", None)) == [
        "limits of a multiprocessor",
        "a first PTX version",
        "operations per clock",
        "the features of earlier ones",
    ]


@pytest.mark.parametrize("name", BY_NAME)
def test_a_target_is_written_as_its_row_says(name: str):
    target = parse_target(name)

    assert target.architecture is BY_NAME[str(target)] is BY_NAME[name]


def test_each_target_has_one_row():
    assert len(BY_NAME) == len(ARCHITECTURES)


def test_a_target_of_other_workers_has_no_row():
    assert parse_target("cuda:95").architecture is None


def missing_of_backend(backend: Backend) -> list[str]:
    """Return what a backend lacks, in words."""
    needed = {
        "stages": any(backend.name in stage.backends for stage in STAGES),
        "options": backend.name in PUBLIC_OPTIONS,
        "metrics of the gate": any(backend.name in names for names in METRIC_BACKENDS.values()),
        "a common target": any(
            row.is_common for row in ARCHITECTURES if row.backend == backend.name
        ),
    }
    return [name for name, is_there in needed.items() if not is_there]


@pytest.mark.parametrize("backend", BACKENDS.values(), ids=lambda backend: backend.name)
def test_a_backend_is_complete(backend: Backend):
    assert missing_of_backend(backend) == []


def test_a_new_backend_is_reported_with_its_gaps():
    assert missing_of_backend(replace(BACKENDS["cuda"], name="xpu")) == [
        "stages",
        "options",
        "metrics of the gate",
        "a common target",
    ]


def test_the_standard_target_is_a_common_one():
    assert BY_NAME[STANDARD_TARGET].is_common
