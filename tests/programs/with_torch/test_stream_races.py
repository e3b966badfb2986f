"""Programs whose CUDA streams race, and programs whose streams wait for each other."""

from __future__ import annotations

import httpx
import pytest

from tests.programs.with_torch.evaluating import evaluate

HEAD = """import torch
import triton
import triton.language as tl

@triton.jit
def add_one(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, at < n) + 1, at < n)

def one_more(x, y):
    add_one[(4,)](x, y, x.numel(), BLOCK=64)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        s, main = torch.cuda.Stream(), torch.cuda.current_stream()
        y, z = torch.empty_like(x), torch.empty_like(x)
"""
REFERENCE = """import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x + 2
def get_inputs():
    return [torch.randn(256, device="cuda")]
"""
IN_S = "with torch.cuda.stream(s):\n    one_more(x, y)\n"


def program_of(body: str) -> str:
    lines = (*body.splitlines(), "return z")
    return HEAD + "".join(f"        {line}\n" for line in lines)


def line_of(text: str, part: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if part in line)


def test_a_consumer_that_does_not_wait_for_its_producer_is_a_race(programs: httpx.Client) -> None:
    text = program_of(
        "with torch.cuda.stream(s):\n    torch.add(x, 1, out=y)\ntorch.add(y, 1, out=z)"
    )
    program = evaluate(programs, text, REFERENCE)
    assert program["verdict"] == "race", program
    [finding] = program["findings"]
    assert (finding["kind"], finding["access"]) == ("race", "read")
    assert finding["line"] == line_of(text, "out=z")
    assert f"user.py:{line_of(text, 'out=y')} writes in stream 1" in finding["message"]
    assert "in the default stream reads" in finding["message"]


def test_launches_race_as_ops_do(programs: httpx.Client) -> None:
    program = evaluate(programs, program_of(IN_S + "one_more(y, z)"), REFERENCE)
    assert (program["verdict"], program["reward"]["correct"]) == ("race", False)
    assert program["findings"][0]["message"].startswith(
        "the launch of add_one in the default stream reads memory that the launch of add_one"
    )


WAITS = [
    "main.wait_stream(s)",
    "main.wait_event(s.record_event())",
    "e = torch.cuda.Event()\ne.record(s)\ne.wait()",
    "e = s.record_event()\ne.synchronize()",
    "s.synchronize()",
    "torch.cuda.synchronize()",
    "torch.accelerator.synchronize()",
    "e = torch.cuda.Event()\ns.record_event(e)\nwhile not e.query():\n    pass",
    "assert s.query()",
    "with s:\n    print(y.sum().item())",
    "with torch.cuda.stream(s):\n    y.cpu()",
    "t = torch.cuda.Stream()\nt.wait_stream(s)\nwith t:\n    e = torch.cuda.current_stream()"
    ".record_event()\ntorch.cuda.default_stream().wait_event(e)",
]


@pytest.mark.parametrize("wait", WAITS)
def test_a_consumer_that_waits_passes(programs: httpx.Client, wait: str) -> None:
    program = evaluate(programs, program_of(f"{IN_S}{wait}\none_more(y, z)"), REFERENCE)
    assert (program["verdict"], program["findings"]) == ("passed", []), program


NO_WAITS = [
    "s.wait_stream(main)",
    "e = torch.cuda.Event()\nmain.wait_event(e)",
    "e = torch.cuda.Event()\ne.record()\ne.synchronize()",
    "e = s.record_event()\nwith s:\n    one_more(x, y)\nmain.wait_event(e)",
    "s.query()",
    "print(x.sum().item())",
    "main.synchronize()",
    "y.record_stream(s)",
    "t = torch.cuda.Stream()\nt.wait_stream(s)",
]


@pytest.mark.parametrize("wait", NO_WAITS)
def test_what_waits_for_something_else_is_a_race(programs: httpx.Client, wait: str) -> None:
    program = evaluate(programs, program_of(f"{IN_S}{wait}\none_more(y, z)"), REFERENCE)
    assert program["verdict"] == "race", program


def test_a_result_that_no_stream_of_the_caller_waits_for_is_a_race(programs: httpx.Client) -> None:
    both = "one_more(x, y)\ns.wait_stream(main)\nwith torch.cuda.stream(s):\n    one_more(y, z)\n"
    text = program_of(both)
    program = evaluate(programs, text, REFERENCE)
    assert program["verdict"] == "race", program
    [finding] = program["findings"]
    assert finding["line"] == line_of(text, "add_one[(4,)]")
    assert "A call returns memory that" in finding["message"]
    assert evaluate(programs, program_of(both + "main.wait_stream(s)"), REFERENCE)["verdict"] == (
        "passed"
    )


def test_memory_that_is_overwritten_while_it_is_read_is_a_race(programs: httpx.Client) -> None:
    body = (
        "one_more(x, y)\ns.wait_stream(main)\nwith torch.cuda.stream(s):\n    one_more(y, z)\n{}"
        "y.zero_()\nmain.wait_stream(s)"
    )
    program = evaluate(programs, program_of(body.format("")), REFERENCE)
    assert program["verdict"] == "race", program
    assert "zero_.default in the default stream writes" in program["findings"][0]["message"]
    waiting = body.format("main.wait_stream(s)\n")
    assert evaluate(programs, program_of(waiting), REFERENCE)["verdict"] == "passed"


HALVES = {
    "slices": "one_more(y[:128], z[:128])\nwith s:\n    one_more(y[128:], z[128:])\n",
    "columns": "w, v = z.view(16, 16), y.view(16, 16)\ntorch.add(v[:, :8], 1, out=w[:, :8])\n"
    "with s:\n    torch.add(v[:, 8:], 1, out=w[:, 8:])\n",
    "offsets": "add_one[(2,)](y, z, 128, BLOCK=64)\n"
    "with s:\n    add_one[(2,)](y[128:], z[128:], 128, BLOCK=64)\n",
}


@pytest.mark.parametrize("halves", HALVES.values(), ids=HALVES)
def test_streams_that_use_parts_of_their_own_pass(programs: httpx.Client, halves: str) -> None:
    body = f"one_more(x, y)\ns.wait_stream(main)\n{halves}main.wait_stream(s)"
    program = evaluate(programs, program_of(body), REFERENCE)
    assert (program["verdict"], program["findings"]) == ("passed", []), program


def test_parts_that_overlap_by_one_element_race(programs: httpx.Client) -> None:
    halves = HALVES["slices"].replace("[128:]", "[127:]")
    body = f"one_more(x, y)\ns.wait_stream(main)\n{halves}main.wait_stream(s)"
    assert evaluate(programs, program_of(body), REFERENCE)["verdict"] == "race"


def test_atomic_sums_of_two_streams_need_no_order(programs: httpx.Client) -> None:
    adding = HEAD.replace("tl.store(y + at, tl.load(x + at, at < n) + 1, at < n)",
                          "tl.atomic_add(y + at, tl.load(x + at, at < n), at < n)")  # fmt: skip
    body = (
        "z.zero_()\none = torch.ones_like(x)\ns.wait_stream(main)\none_more(x, z)\n"
        "with s:\n    one_more(one, z)\n    one_more(one, z)\nmain.wait_stream(s)"
    )
    text = program_of(body).replace(HEAD, adding)
    program = evaluate(programs, text, REFERENCE)
    assert (program["verdict"], program["findings"]) == ("passed", []), program


def test_only_requested_checks_run(programs: httpx.Client) -> None:
    text = program_of(IN_S + "one_more(y, z)")
    assert evaluate(programs, text, REFERENCE, checks=[])["verdict"] == "passed"


def test_rows_that_values_pick_are_warned_of_and_no_race(programs: httpx.Client) -> None:
    body = (
        "rows = torch.arange(128, device='cuda')\none_more(x, y)\ns.wait_stream(main)\n"
        "z.index_copy_(0, rows, y[:128] + 1)\n"
        "with s:\n    z.index_copy_(0, rows + 128, y[128:] + 1)\nmain.wait_stream(s)"
    )
    program = evaluate(programs, program_of(body), REFERENCE)
    assert program["verdict"] == "passed", program
    assert [one["kind"] for one in program["findings"]] == ["warning"]
    assert "different elements, as these depend on values" in program["findings"][0]["message"]


PICKED = {
    "all that it may pick is written": (
        "with s:\n    one_more(x, y)\nz.copy_(y[torch.arange(256, device='cuda')] + 1)",
        "race",
    ),
    "which ones it picks is written": (
        "at = torch.zeros(256, device='cuda', dtype=torch.int64)\ns.wait_stream(main)\n"
        "with s:\n    at.copy_(torch.arange(256, device='cuda'))\n"
        "one_more(x, y)\nz.copy_(y[at] + 1)",
        "race",
    ),
    "what it may have written is read": (
        "at = torch.arange(256, device='cuda')\ns.wait_stream(main)\n"
        "with s:\n    y.index_put_((at,), x + 1)\none_more(y, z)",
        "race",
    ),
    "a part of it is written": (
        "one_more(x, y)\nv = y.clone()\ns.wait_stream(main)\nwith s:\n    v[128:].add_(0)\n"
        "z.copy_(y + 1)\nw = v[torch.arange(128, device='cuda')]\nmain.wait_stream(s)\n"
        "z[:128] = w + 1",
        "passed",
    ),
}


@pytest.mark.parametrize(("body", "verdict"), PICKED.values(), ids=PICKED)
def test_an_op_that_picks_races_where_all_that_it_may_pick_does(
    programs: httpx.Client, body: str, verdict: str
) -> None:
    program = evaluate(programs, program_of(body), REFERENCE)
    assert program["verdict"] == verdict, program
    assert {one["kind"] for one in program["findings"]} == {
        "race" if verdict == "race" else "warning"
    }


def test_a_program_of_several_streams_says_what_is_not_modelled(programs: httpx.Client) -> None:
    program = evaluate(programs, program_of(f"{IN_S}s.synchronize()\none_more(y, z)"), REFERENCE)
    [warning] = program["warnings"]
    assert "2 CUDA streams" in warning
    assert "record_stream" in warning


def test_a_tape_shows_streams_and_waits(programs: httpx.Client) -> None:
    text = program_of(f"{IN_S}main.wait_stream(s)\none_more(y, z)")
    program = evaluate(programs, text, REFERENCE)
    shown = programs.get(program["tape"]["url"], headers={"Accept": "text/plain"}).text
    launched = [line for line in shown.splitlines() if "launch add_one" in line]
    place = f"after user.py:{line_of(text, 'add_one[(4,)]')}"
    assert ["in stream " in line for line in launched] == [True, False, True, False]
    assert [place in line for line in launched] == [False, True, False, True]
