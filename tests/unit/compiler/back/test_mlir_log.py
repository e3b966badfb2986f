"""Parsing of messages that Triton's C++ code writes to stderr."""

from __future__ import annotations

from compiler.back.mlir_log import diagnostics, failing_pass

SOURCE = {"/kernel/user.py": "import triton\n\n    y = tl.dot(a, b)\n"}


def test_an_error_at_a_users_line_gets_its_excerpt() -> None:
    log = "/kernel/user.py:3:9: error: 'tt.dot' op expects equal types\n"

    (found,) = diagnostics(log, SOURCE, "ttgir")

    assert (found.file, found.line, found.column) == ("user.py", 3, 9)
    assert found.excerpt == "    y = tl.dot(a, b)\n        ^^^^^^"
    assert found.message == "'tt.dot' op expects equal types"


def test_an_abort_of_llvm_is_an_error_with_a_hint() -> None:
    (found,) = diagnostics("LLVM ERROR: Cannot select: intrinsic %llvm.x\n", {}, "ptx")

    assert found.message == "LLVM: Cannot select: intrinsic %llvm.x"
    assert found.stage == "ptx"
    assert "another target" in found.hint


def test_a_failed_assertion_is_named_with_its_place() -> None:
    log = "python: /project/LinearLayout.cpp:246: f(int): Assertion `isPowerOf2(size)' failed.\n"

    (found,) = diagnostics(log, {}, "ttgir")

    assert "isPowerOf2(size)" in found.message
    assert "LinearLayout.cpp:246" in found.message


def test_the_failing_pass_becomes_a_note() -> None:
    log = (
        "loc(unknown): error: out of resource: shared memory\n"
        "/kernel/user.py:1:1: error: Failures have been detected while processing an MLIR pass "
        "pipeline\n"
        "/kernel/user.py:1:1: note: Pipeline failed while executing "
        "[`TritonGPUPipeline` on 'builtin.module' operation: `Inner` on 'tt.func']: reproducer\n"
    )

    error, note = diagnostics(log, SOURCE, "ttgir")

    assert error.message == "out of resource: shared memory"
    assert note.message == "while running the pass Inner"
    assert failing_pass(log) == "Inner"


def test_dumps_of_the_module_are_left_out() -> None:
    log = (
        "/kernel/user.py:3:9: error: bad\n/kernel/user.py:3:9: note: see current operation: "
        '"tt.dot"(%0)\nmodule {\n  tt.func @k() {\n'
    )

    assert [found.message for found in diagnostics(log, SOURCE, "llir")] == ["bad"]


def test_hostile_logs_are_bounded() -> None:
    log = "".join(f"/kernel/user.py:{n}:1: error: {'x' * 5000}\n" for n in range(1000))

    found = diagnostics(log, SOURCE, "no such stage")

    assert len(found) == 20
    assert all(len(said.message) <= 1000 for said in found)
    assert found[0].stage == "ttgir"


def test_nothing_is_made_of_nothing() -> None:
    assert diagnostics("", SOURCE, "ptx") == []
    assert failing_pass("") is None
