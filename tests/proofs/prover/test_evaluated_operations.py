"""The evaluator's integer is the CPU device's, op by op, for random values.

Where an integer wraps, the evaluator must have left a check that fails.
"""

import random
from functools import cache
from typing import Any

import numpy as np
import pytest

from compiler.proof.evaluator import Evaluator
from compiler.proof.logic import Compound, Formula, at_least, equal, holds, names_of, opposite
from compiler.proof.polynomial import Polynomial, lift, name
from compiler.proof.proof_limits import SEARCH_EFFORT
from compiler.proof.ranges import Range
from compiler.proof.solver import Effort, WitnessSearch
from compiler.proof.structure import structure_of
from compiler.proof.terms import Check, Term
from compiler.proof.unknowns import Unknowns
from compiler.target import Target
from compiler.ttir_to_numpy.generic_form import module_of
from compiler.ttir_to_numpy.mlir_types import shape_of
from compiler.ttir_to_numpy.task import generic_form
from launch.checks.kernel_run import RunOptions
from launch.cpu.argument_arena import OrderedMemory
from launch.cpu.grid_run import run_grid
from launch.cpu.translation import translated
from launch.messages import RunOrder

EDGES = (0, 1, -1, 2, -2, 7, -7, 8, 100, -100, 2**31 - 1, -(2**31), 65536, -65537)
KERNEL = """module {{
  tt.func public @kernel(%out: !tt.ptr<{type}> loc("out"("k.py":1:1)),
      %a: i32 loc("a"("k.py":1:1)), %b: i32 loc("b"("k.py":1:1))) {{
{body}
{store}
    tt.return
  }}
}}
"""
SCALARS = {
    "addi": "%r = arith.addi %a, %b : i32",
    "subi": "%r = arith.subi %a, %b : i32",
    "muli": "%r = arith.muli %a, %b : i32",
    "divsi": "%r = arith.divsi %a, %b : i32",
    "remsi": "%r = arith.remsi %a, %b : i32",
    "divui": "%r = arith.divui %a, %b : i32",
    "remui": "%r = arith.remui %a, %b : i32",
    "minsi": "%r = arith.minsi %a, %b : i32",
    "minui": "%r = arith.minui %a, %b : i32",
    "maxui": "%r = arith.maxui %a, %b : i32",
    "maxsi": "%r = arith.maxsi %a, %b : i32",
    "andi by a mask": "%m = arith.constant 63 : i32\n%r = arith.andi %a, %m : i32",
    "shli": "%m = arith.constant 3 : i32\n%r = arith.shli %a, %m : i32",
    "shrsi": "%m = arith.constant 3 : i32\n%r = arith.shrsi %a, %m : i32",
    "shrui": "%m = arith.constant 3 : i32\n%r = arith.shrui %a, %m : i32",
    "absi": "%r = math.absi %a : i32",
    "extsi and trunci": "%w = arith.extsi %a : i32 to i64\n%r = arith.trunci %w : i64 to i32",
    "a product of 64 bits": "%w = arith.extsi %a : i32 to i64\n%v = arith.extsi %b : i32 to i64\n"
    "%p = arith.muli %w, %v : i64\n%m = arith.constant 1000003 : i64\n"
    "%q = arith.remsi %p, %m : i64\n%r = arith.trunci %q : i64 to i32",
    "extui": "%w = arith.extui %a : i32 to i64\n%m = arith.constant 4 : i64\n"
    "%q = arith.divsi %w, %m : i64\n%r = arith.trunci %q : i64 to i32",
    **{
        f"cmpi {word}": f"%c = arith.cmpi {word}, %a, %b : i32\n%r = arith.extui %c : i1 to i32"
        for word in ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
    },
    "select": "%c = arith.cmpi slt, %a, %b : i32\n%r = arith.select %c, %b, %a : i32",
    "truth values": "%z = arith.constant 0 : i32\n%c = arith.cmpi sgt, %a, %z : i32\n"
    "%d = arith.cmpi sgt, %b, %z : i32\n%e = arith.xori %c, %d : i1\n%f = arith.andi %c, %d : i1\n"
    "%g = arith.ori %e, %f : i1\n%r = arith.extsi %g : i1 to i32",
    "ori and xori": "%o = arith.ori %a, %b : i32\n%r = arith.xori %o, %b : i32",
    "if": "%c = arith.cmpi slt, %a, %b : i32\n%r = scf.if %c -> (i32) {\n scf.yield %b : i32\n"
    "} else {\n %n = arith.subi %a, %b : i32\n scf.yield %n : i32\n}",
}
REDUCED = (
    "%i = tt.make_range {{start = 0 : i32, end = 8 : i32}} : tensor<8xi32>\n"
    "%s = tt.splat %a : i32 -> tensor<8xi32>\n%x = arith.minsi %i, %s : tensor<8xi32>\n"
    '%r = "tt.reduce"(%x) <{{axis = 0 : i32}}> ({{\n^bb0(%p: i32, %q: i32):\n'
    "%m = arith.{} %p, %q : i32\ntt.reduce.return %m : i32\n}}) : (tensor<8xi32>) -> i32"
)
SCALARS |= {"a maximum of lanes": REDUCED.format("maxsi"), "a sum of lanes": REDUCED.format("addi")}
BOUNDED = {"ori and xori", "a maximum of lanes", "a sum of lanes"}
TENSORS = {
    "make_range": ("tensor<8xi32>", ""),
    "expand_dims and broadcast": (
        "tensor<8x4xi32>",
        "%x = tt.expand_dims %i {axis = 1 : i32} : tensor<8xi32> -> tensor<8x1xi32>\n"
        "%t = tt.broadcast %x : tensor<8x1xi32> -> tensor<8x4xi32>",
    ),
    "trans": (
        "tensor<2x4xi32>",
        "%x = tt.reshape %i : tensor<8xi32> -> tensor<4x2xi32>\n"
        "%t = tt.trans %x {order = array<i32: 1, 0>} : tensor<4x2xi32> -> tensor<2x4xi32>",
    ),
    "reshape": ("tensor<2x2x2xi32>", "%t = tt.reshape %i : tensor<8xi32> -> tensor<2x2x2xi32>"),
    "join": (
        "tensor<8x2xi32>",
        "%t = tt.join %i, %s : tensor<8xi32> -> tensor<8x2xi32>",
    ),
    "split": (
        "tensor<8xi32>",
        "%j = tt.join %i, %s : tensor<8xi32> -> tensor<8x2xi32>\n"
        "%u, %t = tt.split %j : tensor<8x2xi32> -> tensor<8xi32>",
    ),
}


@cache
def module_text(body: str, store: str, kind: str) -> str:
    return KERNEL.format(type=kind, body=body, store=store)


def device_value(text: str, elements: int, a: int, b: int) -> Any:
    """Return what the CPU device stores."""
    allocation = {
        "name": "out", "dtype": "i32", "elements": elements, "align_bytes": 16, "body": None,
        "init": None, "output": True,
    }  # fmt: skip
    buffer = {
        "kind": "buffer", "allocation": 0, "shape": [elements], "strides": [1], "offset": 0,
        "dtype": "i32", "output": True,
    }  # fmt: skip
    scalars = {n: {"kind": "scalar", "value": v, "dtype": "i32"} for n, v in (("a", a), ("b", b))}
    order = RunOrder(
        ir=(0, len(text)), stage="ttir", target=Target("cuda", 90, 32), files=["user.py"],
        allocations=[allocation], arguments={"out": buffer, **scalars},
        parameters=["out", "a", "b"], grid=(1, 1, 1),
    )  # fmt: skip
    ran = run_grid(translated(order, text), order, OrderedMemory(order, b""), RunOptions())
    return np.array(ran.allocations[0].memory)


def stored(text: str) -> tuple[Evaluator, Any]:
    """Return an evaluator of the kernel, and the value that it stores."""
    generic, _ = generic_form(text, Target("cuda", 90, 32), "ttir")
    structure = structure_of(module_of(generic))
    unknowns = Unknowns()
    for argument in "ab":
        unknowns.define(argument, Range(-(2**31), 2**31 - 1))
    evaluator = Evaluator(structure, unknowns)
    [store] = [one for one in structure.paths if one.name == "tt.store"]
    return evaluator, store.operands[1]


def facts_of(evaluator: Evaluator, formulas: list[Formula]) -> list[Formula]:
    """Return formulas with all that is known of their names."""
    found, pending = list(formulas), [text for one in formulas for text in names_of(one)]
    seen: set[str] = set()
    while pending:
        text = pending.pop()
        if text not in seen and text in evaluator.unknowns.known:
            seen.add(text)
            facts = evaluator.unknowns.known[text].facts
            found += facts
            pending += [inner for fact in facts for inner in names_of(fact)]
    return found


def can_be(evaluator: Evaluator, formula: Formula, fixed: dict[str, int]) -> bool:
    formulas = [formula, *(equal(name(text), value) for text, value in fixed.items())]
    search = WitnessSearch(Effort(), facts_of(evaluator, formulas), SEARCH_EFFORT)
    answer = search.check()
    assert answer != "unknown"
    return answer == "sat"


def is_exact(evaluator: Evaluator, checks: set[Check], fixed: dict[str, int]) -> bool:
    """Return whether every integer on the way fits, and every divisor is positive."""
    return not any(
        can_be(evaluator, opposite(goal), fixed) for check in checks for goal in check.goals
    )


def pairs(seed: str, count: int = 8) -> list[tuple[int, int]]:
    drawn = random.Random(seed)
    near = [(drawn.choice(EDGES), drawn.choice(EDGES)) for _ in range(count)]
    wide = [(drawn.randint(-(2**31), 2**31 - 1), drawn.randint(-1000, 1000)) for _ in range(count)]
    return [(a, b or 3) for a, b in near + wide]


@pytest.mark.parametrize("operation", SCALARS)
def test_an_operation_gives_what_the_cpu_device_computes(operation: str) -> None:
    text = module_text(SCALARS[operation], "    tt.store %out, %r : !tt.ptr<i32>", "i32")
    exact = 0
    for a, b in pairs(operation):
        fixed = {"a": a, "b": b}
        evaluator, value = stored(text)
        with evaluator.collecting() as checks:
            made: Term = evaluator.integer(value)
        assert isinstance(made, Polynomial)
        on_device = int(device_value(text, 1, a, b)[0])
        if not is_exact(evaluator, checks, fixed):
            continue  # it wraps, or divides by an invalid divisor, and a check reports it
        exact += 1
        assert can_be(evaluator, equal(made, on_device), fixed), (a, b, on_device)
        if operation not in BOUNDED:  # of these only bounds are known
            differs = opposite(equal(made, on_device))
            assert not can_be(evaluator, differs, fixed), (a, b, on_device)
    assert exact >= 3


@pytest.mark.parametrize("operation", ["divsi", "remsi"])
def test_a_division_by_a_negative_number_rounds_to_zero(operation: str) -> None:
    text = module_text(SCALARS[operation], "    tt.store %out, %r : !tt.ptr<i32>", "i32")
    evaluator, value = stored(text)
    made = evaluator.integer(value)
    for a, b in ((7, -2), (-7, -2), (6, -3), (0, -5), (-1, -1), (5, -9), (-5, -9)):
        on_device = int(device_value(text, 1, a, b)[0])
        assert can_be(evaluator, equal(made, on_device), {"a": a, "b": b}), (a, b)
        assert not can_be(evaluator, opposite(equal(made, on_device)), {"a": a, "b": b}), (a, b)


@pytest.mark.parametrize("operation", TENSORS)
def test_a_tensor_has_the_elements_of_the_cpu_device(operation: str) -> None:
    kind, body = TENSORS[operation]
    shape = shape_of(kind)
    flat = int(np.prod(shape))
    result = "%t" if body else "%i"
    head = (
        "%i = tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>\n"
        "%s = tt.splat %a : i32 -> tensor<8xi32>\n"
    )
    at = f"%f = tt.reshape {result} : {kind} -> tensor<{flat}xi32>\n"
    store = (
        f"%o = tt.make_range {{start = 0 : i32, end = {flat} : i32}} : tensor<{flat}xi32>\n"
        f"%p = tt.splat %out : !tt.ptr<i32> -> tensor<{flat}x!tt.ptr<i32>>\n"
        f"%q = tt.addptr %p, %o : tensor<{flat}x!tt.ptr<i32>>, tensor<{flat}xi32>\n"
        f"tt.store %q, %f : tensor<{flat}x!tt.ptr<i32>>"
    )
    text = module_text(head + body + "\n" + at, store, "i32")
    on_device = device_value(text, flat, 41, 1)
    evaluator, value = stored(text)
    for index in range(flat):
        made = evaluator.integer(value, (lift(index),))
        assert not can_be(
            evaluator, opposite(equal(made, int(on_device[index]))), {"a": 41, "b": 1}
        )


def test_a_conjunction_holds_where_its_parts_do() -> None:
    formula = Compound("and", (at_least(name("a"), 1), at_least(7, name("a"))))
    assert holds(formula, {"a": 7})
    assert not holds(formula, {"a": 8})
