"""TTIR that meets each bound of a proof: refused by name, or unknown, and never for long."""

import gc
import time

import pytest
from z3 import z3core

from compiler.proof import linear, solver
from compiler.target import Target
from launch.proof.proof_messages import ProofReport, ProveOrder
from launch.proof.prove_kernel import prove_kernel

FUNCTION = """module {{
  tt.func public @kernel(%x: !tt.ptr<f32> loc("x"("k.py":1:1)), %n: i32 loc("n"("k.py":1:1))) {{
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1 : i32
{body}
    tt.return
  }}
{more}}}
"""
STORE = (
    "    %p{i} = tt.addptr %x, %{at} : !tt.ptr<f32>, i32\n    tt.store %p{i}, %zero : !tt.ptr<f32>"
)
MAX_CPU_S = 60.0


def report_of(body: str, more: str = "", contract: str = "x: n\n") -> ProofReport:
    text = FUNCTION.format(body=body, more=more)
    order = ProveOrder(
        target=Target("cuda", 90, 32), files=["user.py"], contract=contract, constants={},
        checks=["bounds", "overflow"], most_size=2**30, most_elements=2**36,
    )  # fmt: skip
    started = time.process_time()
    report = prove_kernel(order, text.encode(), lambda *_: None)
    assert time.process_time() - started < MAX_CPU_S
    return report


def store(index: int, at: str) -> str:
    return STORE.format(i=index, at=at)


def chain(count: int, line: str) -> str:
    """Return `count` operations, each of the one before; `{i}` is its number, `{b}` the last."""
    lines = ["    %v0 = arith.addi %n, %one : i32"]
    lines += [f"    %v{i} = " + line.format(i=i, b=i - 1) for i in range(1, count)]
    return "\n".join([*lines, store(0, f"v{count - 1}")])


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("\n".join(f"    %c{i} = arith.addi %n, %one : i32" for i in range(21_000)), "20,000 operations"),
        ("\n".join(store(i, "n") for i in range(401)), "400 accesses"),
        (chain(9, "arith.muli %v{b}, %v{b} : i32"), "factors"),
        (chain(5000, "arith.minsi %v{b}, %n : i32"), ""),
    ],
    ids=["operations", "accesses", "factors", "depth"],
)  # fmt: skip
def test_a_bound_of_the_evaluator_is_named(body: str, words: str) -> None:
    report = report_of(body)
    said = [report.refused, *(one.answers["bounds"].reason for one in report.accesses)]
    assert any(words in text for text in said)
    assert all(one.answers["bounds"].verdict != "proved" for one in report.accesses)


def test_a_call_is_refused_by_its_name() -> None:
    more = (
        "  tt.func private @f(%a: i32) -> i32 attributes {noinline = true} {\n"
        "    tt.return %a : i32\n  }\n"
    )
    report = report_of("    %r = tt.call @f(%n) : (i32) -> i32\n" + store(0, "r"), more)
    assert report.refused == "cannot read tt.call: the function is not inlined"


def test_a_store_of_another_dialect_is_refused_by_its_name() -> None:
    body = (
        "    %w = tt.ptr_to_int %x : !tt.ptr<f32> -> i64\n"
        "    %q = llvm.inttoptr %w : i64 to !llvm.ptr\n    llvm.store %zero, %q : f32, !llvm.ptr"
    )
    assert "llvm.inttoptr, which may access memory" in report_of(body).refused


def test_a_loop_of_branches_is_refused() -> None:
    body = (
        "    cf.br ^loop(%n : i32)\n  ^loop(%i: i32):\n" + store(0, "i") + "\n"
        "    %c = arith.cmpi slt, %i, %one : i32\n    cf.cond_br %c, ^loop(%one : i32), ^end\n"
        "  ^end:"
    )
    assert "a loop made of branches" in report_of(body).refused


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "    %w = tt.ptr_to_int %x : !tt.ptr<f32> -> i64\n"
            "    %q = tt.int_to_ptr %w : i64 -> !tt.ptr<f32>\n"
            "    tt.store %q, %zero : !tt.ptr<f32>",
            "tt.int_to_ptr",
        ),
        (
            "    %v = tt.load %x : !tt.ptr<f32>\n    %w = arith.fptosi %v : f32 to i32\n" + store(0, "w"),
            "arith.fptosi",
        ),
        (
            "    %e = scf.while (%i = %n) : (i32) -> i32 {\n"
            "      %c = arith.cmpi sgt, %i, %one : i32\n      scf.condition(%c) %i : i32\n    } do {\n"
            "    ^bb0(%j: i32):\n      %k = arith.divsi %j, %one : i32\n"
            "      %h = arith.shrsi %k, %one : i32\n      scf.yield %h : i32\n    }\n" + store(0, "e"),
            "while loop",
        ),
        (
            "    %e = scf.for %i = %one to %n step %one iter_args(%s = %one) -> (i32) : i32 {\n"
            "      %d = arith.muli %s, %s : i32\n      scf.yield %d : i32\n    }\n" + store(0, "e"),
            "a value that the loop",
        ),
        ("    %c = arith.ceildivsi %n, %one : i32\n" + store(0, "c"), "arith.ceildivsi"),
    ],
    ids=["int_to_ptr", "a float", "a while loop", "a doubling step", "an unknown operation"],
)  # fmt: skip
def test_an_address_that_no_formula_says_is_unknown_and_named(body: str, words: str) -> None:
    access = report_of(body).accesses[-1]
    assert access.answers["bounds"].verdict == "unknown"
    assert words in access.answers["bounds"].reason


def test_an_unsigned_loop_is_refused() -> None:
    body = "    scf.for unsigned %i = %one to %n step %one : i32 {\n" + store(0, "i") + "\n    }"
    assert "unsigned counter" in report_of(body).refused


def test_a_branch_of_many_ways_is_refused() -> None:
    body = (
        "    cf.switch %n : i32, [\n      default: ^end(%n : i32),\n      5: ^end(%one : i32)\n    ]\n"
        "  ^end(%i: i32):\n" + store(0, "i")
    )
    assert "cf.switch" in report_of(body).refused


@pytest.mark.parametrize(
    "line",
    [
        "    %d = arith.divui %c, %c : i1\n    %w = arith.extsi %d : i1 to i32\n",
        "    %d = arith.index_cast %c : i1 to index\n    %w = arith.index_cast %d : index to i32\n",
    ],
)
def test_arithmetic_of_a_truth_value_is_unknown(line: str) -> None:
    body = "    %c = arith.cmpi sge, %n, %one : i32\n" + line + store(0, "w")
    access = report_of(body, contract="x: n + 1\n").accesses[-1]
    assert access.answers["bounds"].verdict == "unknown"


def test_a_truth_value_is_no_offset() -> None:
    body = (
        "    %c = arith.cmpi sge, %n, %one : i32\n    %p = tt.addptr %x, %c : !tt.ptr<f32>, i1\n"
        "    tt.store %p, %zero : !tt.ptr<f32>"
    )
    reason = report_of(body, contract="x: n + 1\n").accesses[-1].answers["bounds"].reason
    assert "a truth value as an offset" in reason


def test_a_pointer_that_is_chased_through_memory_is_unknown() -> None:
    body = (
        "    %y = tt.bitcast %x : !tt.ptr<f32> -> !tt.ptr<i32>\n"
        "    %v = tt.load %y : !tt.ptr<i32>\n" + store(0, "v")
    )
    assert report_of(body).accesses[-1].answers["bounds"].verdict == "unknown"


def test_effort_is_bounded_for_a_hard_contract() -> None:
    products = " + ".join(f"n * n * n * {i}" for i in range(2, 12))
    contract = f"x: n * n\n{products} <= n * n * n * n + 77\nn % 7 == 3\nn % 11 == 5\n"
    body = chain(6, "arith.muli %v{b}, %n : i32")
    report = report_of(body, contract=contract)
    assert report.refused or report.accesses


def test_text_that_is_no_module_is_refused() -> None:
    order = ProveOrder(
        target=Target("cuda", 90, 32), files=[], contract="", constants={}, checks=["bounds"],
        most_size=1, most_elements=1,
    )  # fmt: skip
    report = prove_kernel(order, b"not a module", lambda *_: None)
    assert "cannot parse" in report.refused


def test_a_proof_that_needs_too_much_memory_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    body = "\n".join(store(i, "n") for i in range(5))
    assert report_of(body).refused == ""
    monkeypatch.setattr(solver, "MAX_SOLVER_MIB", 0)
    report = report_of(body)
    assert report.refused == "the proof takes more memory than one kernel may"
    assert report.accesses == []


def test_the_memory_of_earlier_proofs_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    body = "\n".join(store(i, "n") for i in range(5))
    gc.collect()
    limit = (z3core.Z3_get_estimated_alloc_size() >> 20) + 16
    monkeypatch.setattr(solver, "MAX_SOLVER_MIB", limit)
    gc.disable()
    try:
        reports = [report_of(body) for _ in range(40)]
    finally:
        gc.enable()
    assert {one.refused for one in reports} == {""}


def test_what_the_solver_forgot_is_loaded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    body = "\n".join(store(i, "n") for i in range(5))
    kept = [(one.answers["bounds"], one.answers["overflow"]) for one in report_of(body).accesses]
    monkeypatch.setattr(linear, "MAX_PLACES", 1)
    again = [(one.answers["bounds"], one.answers["overflow"]) for one in report_of(body).accesses]
    assert again == kept
