"""The record of a compilation: every documented field, always."""

import json

import pytest

from compiler.compilation import (
    Compilation,
    CompilationAnswer,
    cancelled_compilation,
    new_compilation,
)
from compiler.diagnostic import Diagnostic
from compiler.problem import failure_problem
from tests.unit.compiler.vector_add import TOOLCHAIN, job


def test_a_new_compilation_has_every_field_of_an_answer():
    record = json.loads(new_compilation(job(), TOOLCHAIN, "queued").model_dump_json())

    assert record == {
        "key": job().key,
        "url": f"/v1/compilations/{job().key}",
        "state": "queued",
        "kernel": "add_kernel",
        "target": "cuda:90",
        "stop_after": "cubin",
        "options": job().options,
        "toolchain": {
            "id": TOOLCHAIN.id,
            "triton": "3.9.0",
            "ptxas": "12.9/13.4",
            "sandbox": "standard",
        },
        "artifacts": {},
        "parameters": [],
        "abi": None,
        "metadata": None,
        "resources": None,
        "timings_ms": None,
        "diagnostics": [],
        "complete": True,
        "assumptions": [],
        "assumed": [],
        "needs": [],
        "stdout": "",
        "problem": None,
    }


def test_a_toolchain_that_is_not_known_here_is_reported_by_its_id():
    record = new_compilation(job(), None, "queued")

    assert record.toolchain.id == TOOLCHAIN.id
    assert record.toolchain.triton == ""


def test_a_record_is_read_back_as_it_was_written():
    record = cancelled_compilation(job(), TOOLCHAIN)

    assert Compilation.model_validate_json(record.model_dump_json()) == record


def test_a_cancelled_compilation_can_be_posted_again():
    record = cancelled_compilation(job(), TOOLCHAIN)

    assert record.state == "cancelled"
    assert record.problem is not None
    assert (record.problem.slug, record.problem.retryable) == ("cancelled", True)


def test_an_answer_adds_what_belongs_to_one_request():
    own = CompilationAnswer.model_fields.keys() - Compilation.model_fields.keys()

    assert own == {"cache", "queue_position", "included"}


@pytest.mark.parametrize(
    "slug",
    ["compile_timeout", "memory_exceeded", "sandbox_violation", "worker_lost", "compiler_crashed"],
)
def test_failures_that_are_no_property_of_the_source_are_retryable(slug: str):
    assert failure_problem(slug, "").retryable is True


@pytest.mark.parametrize(
    "slug",
    ["syntax_error", "unknown_kernel", "ambiguous_kernel", "missing_constexpr", "missing_type",
     "extra_argument", "missing_module", "compile_error", "lowering_failed", "assembler_failed",
     "out_of_resources"],
)  # fmt: skip
def test_failures_of_the_source_are_not_retryable(slug: str):
    assert failure_problem(slug, "").retryable is False


def test_a_problem_says_its_type_title_and_parameter():
    problem = failure_problem("missing_constexpr", "`BLOCK_SIZE` has no value", "BLOCK_SIZE")

    assert problem.type == "urn:tritond:problem:missing_constexpr"
    assert problem.title == "A constexpr parameter has no value"
    assert problem.detail == "`BLOCK_SIZE` has no value"
    assert problem.parameter == "BLOCK_SIZE"


def test_the_place_of_a_problem_is_that_of_the_first_error():
    warned = Diagnostic("warning", "frontend", "assumed", file="user.py", line=1)
    error = Diagnostic("error", "frontend", "wrong", file="user.py", line=7)

    problem = failure_problem("compile_error", "wrong", diagnostics=[warned, error])

    assert (problem.file, problem.line, problem.fault) == ("user.py", 7, "source")
