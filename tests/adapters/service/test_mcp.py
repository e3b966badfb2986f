"""The MCP endpoint, used by the official client."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from tests.integration.service.bodies import good
from tests.integration.service.running import ROOT, Deployment

VECTOR_ADD = good("vector_add")["source"]
SIGNATURE = {
    "x_ptr": "*fp32:16",
    "y_ptr": "*fp32:16",
    "output_ptr": "*fp32:16",
    "n_elements": "i32",
}
COMPILED = {
    "source": VECTOR_ADD,
    "signature": SIGNATURE,
    "constexprs": {"BLOCK_SIZE": 1024},
    "target": "cuda:90",
}
BUFFER = {"shape": [1000], "dtype": "fp32"}
LAUNCHED = {
    "source": VECTOR_ADD,
    "constexprs": {"BLOCK_SIZE": 256},
    "arguments": {
        "x_ptr": BUFFER | {"init": {"kind": "uniform", "seed": 1}},
        "y_ptr": BUFFER | {"init": {"kind": "uniform", "seed": 2}},
        "output_ptr": BUFFER | {"output": True},
        "n_elements": 1000,
    },
    "grid": ["cdiv(n_elements, BLOCK_SIZE)"],
    "reference": "def reference(x_ptr, y_ptr, **_):\n    return x_ptr + y_ptr\n",
}
MAX_BYTES = 4000


@asynccontextmanager
async def connected(
    deployment: Deployment, mode: str = "auto", **headers: str
) -> AsyncIterator[Client]:
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(f"{deployment.url}/mcp", http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


async def said(deployment: Deployment, tool: str, **arguments: Any) -> str:
    async with connected(deployment) as client:
        result = await client.call_tool(tool, arguments)
    [content] = result.content
    text: str = content.text
    assert len(text.encode()) <= MAX_BYTES
    assert steps_in(text)
    assert result.structured_content["next"] == steps_in(text)[0]
    return text


def steps_in(text: str) -> list[str]:
    return re.findall(r"^Next: (.*)$", text, re.MULTILINE)


def key_in(text: str) -> str:
    return re.findall(r"key ([0-9a-f]{64})", text)[0]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_both_generations_of_clients_find_the_tools(system: Deployment, mode: str) -> None:
    async with connected(system, mode) as client:
        tools = (await client.list_tools()).tools
        answered = await client.call_tool("targets", {})

    assert [tool.name for tool in tools] == [
        "targets",
        "inspect",
        "compile",
        "launch",
        "program",
        "sweep",
        "prove",
        "compare",
        "explain",
    ]
    assert all(tool.description and tool.input_schema["type"] == "object" for tool in tools)
    listed = [tool.model_dump(by_alias=True, exclude_none=True) for tool in tools]
    assert len(json.dumps(listed, separators=(",", ":"))) <= 12_000
    hints = {tool.name: tool.annotations.read_only_hint for tool in tools}
    assert [name for name, is_read_only in hints.items() if not is_read_only] == [
        "launch",
        "program",
        "sweep",
    ]
    assert "cuda:90" in answered.content[0].text


async def test_prompts_of_the_usual_loops_are_offered(system: Deployment) -> None:
    async with connected(system) as client:
        prompts = (await client.list_prompts()).prompts
        got = await client.get_prompt("fix_kernel", {"source": "x = {1: {'target': 2}}"})
        with pytest.raises(MCPError, match="needs the argument 'source'"):
            await client.get_prompt("fix_kernel", {})

    assert [prompt.name for prompt in prompts] == ["write_kernel", "fix_kernel", "tune_kernel"]
    text = got.messages[0].content.text
    assert "x = {1: {'target': 2}}" in text
    assert "racecheck" in text


async def test_pages_and_lessons_are_resources(system: Deployment) -> None:
    async with connected(system) as client:
        listed = {str(item.uri): item for item in (await client.list_resources()).resources}
        [page] = (await client.read_resource("tritond://docs/proofs")).contents
        [lesson] = (await client.read_resource("tritond://lessons/scale_rows")).contents
        with pytest.raises(MCPError, match="Did you mean"):
            await client.read_resource("tritond://docs/proof")

    assert {"tritond://docs/errors", "tritond://lessons/add_ten"} <= listed.keys()
    assert page.text.startswith("# ")
    assert "`prove` must prove it, with this contract:" in lesson.text
    arguments = json.loads(re.findall(r"```json\n(.*)\n```", lesson.text)[0])
    solution = re.findall(r"```python\n(.*?)```", lesson.text, re.DOTALL)[-1]
    assert ": passed\n" in await said(system, "launch", source=solution, **arguments)


async def test_prove_without_a_contract_answers_a_draft(system: Deployment) -> None:
    text = await said(system, "prove", source=VECTOR_ADD)

    draft = "x_ptr: n_elements\ny_ptr: n_elements\noutput_ptr: n_elements\n"
    assert draft in text
    contract = draft + "grid: cdiv(n_elements, BLOCK_SIZE)\n"
    proved = await said(system, "prove", source=VECTOR_ADD, contract=contract)
    assert re.match(r"proof [0-9a-f]+: proved\nassumes \*fp32 x_ptr", proved)
    assert "i32 n_elements; " in proved  # and not one that 16 divides


async def test_inspect_shows_the_parameters(system: Deployment) -> None:
    text = await said(system, "inspect", source=VECTOR_ADD)

    assert "add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: constexpr)" in text


async def test_compile_shows_resources_and_a_stage(system: Deployment) -> None:
    text = await said(system, "compile", **COMPILED, stage="ptx")

    assert text.startswith("succeeded: add_kernel for cuda:90")
    assert "registers " in text
    assert ".visible .entry add_kernel" in text
    assert "more bytes]" in text  # PTX is longer than an answer
    assert text.index("Next: ") < text.index(".visible .entry")


async def test_compile_completes_what_is_not_given_and_says_so(system: Deployment) -> None:
    shown = await said(system, "inspect", source=VECTOR_ADD)
    partial = {"x_ptr": "*fp16:16"}
    made = await said(
        system, "compile", source=VECTOR_ADD, signature=partial, target="cuda:90", stage="ptx"
    )

    assert "assumed: x_ptr *fp32:16" in shown
    assert made.startswith("succeeded: add_kernel for cuda:90")
    assert "assumes *fp32 y_ptr, output_ptr; i32 n_elements divisible by 16; BLOCK_SIZE=64" in made
    assert "assumes" not in await said(system, "compile", **COMPILED)


async def test_a_misspelt_constexpr_is_the_only_error(system: Deployment) -> None:
    text = await said(system, "compile", source=VECTOR_ADD, constexprs={"BLOK_SIZE": 128})

    assert text.startswith("failed: extra_argument")
    assert "assumes *fp32 x_ptr, y_ptr, output_ptr" in text
    assert "has no parameter `BLOK_SIZE`. Did you mean `BLOCK_SIZE`?" in text
    assert "has neither a type" not in text
    assert ":None:" not in text


async def test_compile_takes_ir(system: Deployment) -> None:
    key = key_in(await said(system, "compile", **COMPILED))
    path = f"/v1/compilations/{key}/artifacts/"
    with httpx.Client(base_url=system.url) as http:
        for stage in ("ttir", "ttgir"):
            text = http.get(path + stage).text

            made = await said(system, "compile", ir=text, target="cuda:90")

            assert made.startswith("succeeded: add_kernel for cuda:90"), made
    both = await said(system, "compile", source=VECTOR_ADD, ir=text)
    neither = await said(system, "compile", target="cuda:90")
    for refusal in (both, neither):
        assert re.search(r"`source`.*`ir`|`ir`.*`source`", refusal), refusal


async def test_the_beginning_of_a_key_is_enough(system: Deployment) -> None:
    first = key_in(await said(system, "compile", **COMPILED, options={"num_warps": 4}))
    second = key_in(await said(system, "compile", **COMPILED, options={"num_warps": 8}))
    launched = re.findall(r"launch ([0-9a-f]+)", await said(system, "launch", **LAUNCHED))[0]

    compared = await said(system, "compare", first=first[:12], second=second[:12])
    explained = await said(system, "explain", key=first[:12])
    run = await said(system, "explain", key=launched[:12])
    unknown = await said(system, "explain", key="0123456789abcdef")

    assert "num_warps: 4 -> 8" in compared
    assert f"key {first}" in explained
    assert run.startswith(f"launch {launched}: passed")
    assert "None of your results starts with '0123456789abcdef'." in unknown


async def test_compile_shows_machine_code(system: Deployment) -> None:
    text = await said(system, "compile", **COMPILED, stage="sass")

    assert "/kernel/user.py" in text
    assert re.search(r"^\d+: .*\bS2R\b", text, re.MULTILINE)


async def test_the_facts_are_structured_content_too(system: Deployment) -> None:
    async with connected(system) as client:
        made = (await client.call_tool("compile", COMPILED)).structured_content
        ran = (await client.call_tool("launch", LAUNCHED)).structured_content
        wrong = COMPILED | {"options": {"num_wraps": 4}}
        refused = (await client.call_tool("compile", wrong)).structured_content

    assert (made["state"], len(made["key"])) == ("succeeded", 64)
    assert (ran["verdict"], len(ran["id"]), ran["key"]) == ("passed", 32, None)
    assert made["resources"]["registers"] > 0
    assert (refused["fault"], refused["slug"]) == ("request", "invalid_request")
    [argument] = refused["arguments"]
    assert argument["argument"] == "options.num_wraps"


async def test_a_sweep_shows_the_best_rows_first(system: Deployment) -> None:
    space = {"constexprs.BLOCK_SIZE": [256, 1000], "options.num_warps": [4, 8]}
    usual = {name: COMPILED[name] for name in ("source", "signature", "target")}

    text = await said(system, "sweep", **usual, space=space)

    rows = text.split("\n\n")[1].splitlines()
    assert re.match(r"sweep [0-9a-f]+: completed, 2 succeeded, 2 failed", text)
    assert [": succeeded: " in row for row in rows] == [True, True, False, False]
    again = await said(system, "explain", key=re.findall(r"sweep ([0-9a-f]+)", text)[0])
    assert again.splitlines()[0] == text.splitlines()[0]


async def test_a_program_is_run_or_refused_with_the_reason(system: Deployment) -> None:
    async with connected(system) as client:
        answered = await client.call_tool("program", {"source": "def custom_kernel(x): return x"})

    # no worker of this deployment has torch
    assert answered.is_error
    text = answered.content[0].text
    assert "Install torch next to a worker's Triton" in text
    assert "Next: leave the source as it is; ask the operator" in text


async def test_a_failure_reports_its_line_and_a_next_step(system: Deployment) -> None:
    broken = VECTOR_ADD.replace("tl.load(x_ptr", "tl.laod(x_ptr")
    line = 1 + next(i for i, text in enumerate(broken.split("\n")) if "tl.laod" in text)

    text = await said(system, "compile", **COMPILED | {"source": broken})

    assert text.startswith("failed: compile_error")
    assert f"user.py:{line}:" in text
    assert steps_in(text) == [f"line {line}: Did you mean tl.load? Then compile again"]
    assert "hint: " not in text
    again = await said(system, "explain", key=key_in(text))
    assert f"user.py:{line}:" in again


async def test_what_is_wrong_in_a_request_is_named(system: Deployment) -> None:
    unknown = await said(system, "compile", **COMPILED | {"options": {"num_wraps": 4}})
    missing = await said(system, "sweep", source=VECTOR_ADD, space={"BLOCK_SIZE": [64]})
    misspelt = await said(system, "compiel", source=VECTOR_ADD)

    assert "Next: change `options.num_wraps` as described above" in unknown
    assert "Next: change `target` as described above" in missing
    assert "There is no tool 'compiel'. Did you mean `compile`?" in misspelt


async def test_explain_says_what_makes_a_kernel_costly(system: Deployment) -> None:
    source = """import triton
import triton.language as tl

@triton.jit
def k(x_ptr, out_ptr, N: tl.constexpr):
    o = tl.arange(0, N)
    tl.store(out_ptr + o, tl.load(x_ptr + o * 3))
"""
    signature = {"x_ptr": "*fp32:16", "out_ptr": "*fp32:16"}
    kernel = {"source": source, "signature": signature, "constexprs": {"N": 512}}
    key = key_in(await said(system, "compile", **kernel, target="cuda:90"))

    text = await said(system, "explain", key=key)

    assert "user.py:7: not vectorised: 4 loads of 4 bytes" in text
    assert "4 global_load" in text or "global_load 4" in text
    assert "TMA: none; the kernel has no tensor descriptor" in text
    assert "sweep options.num_warps" in text


async def test_explain_shows_what_a_line_became(system: Deployment) -> None:
    key = key_in(await said(system, "compile", **COMPILED))
    lines = VECTOR_ADD.split("\n")
    line = 1 + next(i for i, text in enumerate(lines) if "tl.load(x_ptr" in text)

    text = await said(system, "explain", key=key, line=line)
    nothing = await said(system, "explain", key=key, line=1)

    assert "ld.global" in text
    assert str(line) in nothing.splitlines()[-1]


async def test_compare_shows_the_differences(system: Deployment) -> None:
    first = key_in(await said(system, "compile", **COMPILED, options={"num_warps": 4}))
    second = key_in(await said(system, "compile", **COMPILED, options={"num_warps": 8}))

    text = await said(system, "compare", first=first, second=second)

    assert "num_warps: 4 -> 8" in text
    assert re.search(r"  global_load: \d+ -> \d+", text)
    assert re.search(r"  user\.py:\d+: .*global_load -\d", text)
    assert "ttir same, ttgir +" in text
    assert '"ttg.num-warps" = 8' in text
    assert "BLOCK_SIZE" not in text
    ptx = await said(system, "compare", first=first, second=second, stage="ptx")
    assert "-.reqntid 128\n+.reqntid 256" in ptx


async def test_compare_says_that_the_same_came_of_both(system: Deployment) -> None:
    first = key_in(await said(system, "compile", **COMPILED))
    commented = COMPILED | {"source": f"# a comment\n{VECTOR_ADD}"}
    second = key_in(await said(system, "compile", **commented))

    text = await said(system, "compare", first=first, second=second)

    assert text.startswith("Both results are the same.")
    assert "timing" not in steps_in(text)[0]


async def test_a_right_kernel_passes_and_a_wrong_one_says_where(system: Deployment) -> None:
    right = await said(system, "launch", **LAUNCHED)
    wrong = await said(
        system, "launch", **LAUNCHED | {"source": VECTOR_ADD.replace("x + y", "x - y")}
    )
    unmasked = VECTOR_ADD.replace("mask = offsets < n_elements", "mask = offsets < n_elements + 9")
    outside = await said(system, "launch", **LAUNCHED | {"source": unmasked})

    assert re.match(r"launch [0-9a-f]+: passed\n", right)
    assert "output_ptr: matches the reference" in right
    assert ": mismatch\n" in wrong
    assert re.search(
        r"output_ptr: 1000 elements do not match, first at \[0\]: .* instead of", wrong
    )
    assert ": out_of_bounds\n" in outside
    line = re.findall(r"user\.py:(\d+): out_of_bounds", outside)[0]
    assert outside.splitlines()[-1].endswith(f"; else fix line {line}, and launch again")
    launched = re.findall(r"launch ([0-9a-f]+)", outside)[0]
    assert await said(system, "explain", key=launched) == outside


SHARED_COUNTS = """\
import triton
import triton.language as tl

@triton.jit
def counts(y_ptr, BLOCK: tl.constexpr):
    offsets = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)) % 256
    tl.store(y_ptr + offsets, offsets)
"""


async def test_a_launch_on_the_cpu_checks_races_unless_it_names_checks(system: Deployment) -> None:
    shared = {"arguments": {"y_ptr": "i32[256]"}, "constexprs": {"BLOCK": 16}, "grid": 32}
    differing = SHARED_COUNTS.replace("offsets, offsets", "offsets, tl.program_id(0)")

    racing = await said(system, "launch", source=differing, **shared)
    equal = await said(system, "launch", source=SHARED_COUNTS, **shared)
    unchecked = await said(system, "launch", source=differing, checks=[], **shared)

    assert ": race\n" in racing
    assert steps_in(racing) == ["fix line 7, and launch again"]
    assert ": not_checked\n" in equal
    assert "races were not checked" not in equal
    assert ": not_checked\n" in unchecked
    assert 'races were not checked: add "racecheck"' in unchecked


async def test_the_forms_of_the_command_line_work(system: Deployment) -> None:
    buffers = dict.fromkeys(("x_ptr", "y_ptr"), "fp32[1000]:normal")
    buffers |= {"output_ptr": "fp32[1000]:output", "n_elements": 1000}
    short = {"arguments": buffers, "grid": "cdiv(n_elements, BLOCK_SIZE)"}
    space = {"BLOCK_SIZE": [128, 256], "num_warps": [4]}

    assert re.match(r"launch [0-9a-f]+: passed\n", await said(system, "launch", **LAUNCHED | short))
    swept = await said(system, "sweep", **COMPILED | {"space": space, "constexprs": {}})
    assert swept.count(": succeeded") == 2


async def test_a_source_named_by_its_module_finds_its_package(system: Deployment) -> None:
    text = "from .ops import total\n" + VECTOR_ADD.replace("x + y", "total(x, y)")
    named = {"source": text, "module": "pkg.kernels"}
    ops = {"pkg/ops.py": "import triton\n@triton.jit\ndef total(x, y):\n    return x + y\n"}

    without = await said(system, "compile", **COMPILED | named)
    compiled = await said(system, "compile", **COMPILED | named | {"files": ops})

    assert "pkg/ops.py" in without
    assert compiled.startswith("succeeded")


WRONG = (2.5, [[1]], {"a": [None]})


@pytest.mark.parametrize("tool", ["compile", "launch", "program", "sweep", "prove", "explain"])
async def test_a_wrong_value_is_named_by_an_argument_of_the_tool(
    system: Deployment, tool: str
) -> None:
    right = {
        "compile": COMPILED,
        "launch": LAUNCHED,
        "program": {"source": "x = 1"},
        "sweep": COMPILED | {"space": {"BLOCK_SIZE": [256]}},
        "prove": {"source": VECTOR_ADD, "contract": "sizes n"},
        "explain": {"key": "0" * 64},
    }[tool]
    async with connected(system) as client:
        [schema] = [
            listed.input_schema["properties"]
            for listed in (await client.list_tools()).tools
            if listed.name == tool
        ]
        for argument, value in itertools.product(schema, WRONG):
            answered = await client.call_tool(tool, right | {argument: value})
            facts = answered.structured_content
            if not answered.is_error or facts["slug"] != "invalid_request":
                continue  # the value fits, or only the source shows that it does not
            for wrong in facts["arguments"]:
                first, *rest = wrong["argument"].split(".")
                assert first in schema, facts
                assert not any(re.search(r"\W|^(int|str|float|bool)$", word) for word in rest)
                assert f"`{wrong['argument']}`" in facts["next"]


async def test_a_wrong_grid_has_an_example_of_a_right_one(system: Deployment) -> None:
    for grid in (2.5, None, {"x": 1}, [[1]], []):
        text = await said(system, "launch", **LAUNCHED | {"grid": grid})

        assert re.search(r"^grid(\.0)?: .*cdiv\(", text, re.MULTILINE), text


async def test_a_wrong_reference_is_what_to_fix(system: Deployment) -> None:
    wrong = "def reference(x_ptr, **_):\n    return {'out': x_ptr}\n"

    text = await said(system, "launch", **LAUNCHED | {"reference": wrong})

    assert ": invalid_reference\n" in text
    step = "fix line 2 of the reference, and launch again; the kernel may be right"
    assert steps_in(text) == [step]


async def test_a_target_without_a_gpu_may_be_left_out(system: Deployment) -> None:
    text = await said(system, "launch", **LAUNCHED | {"target": "cuda:90"})

    assert "target: " in text
    assert "leave out `target` to run it on the CPU device" in steps_in(text)[0]


async def test_a_kernel_that_cannot_be_launched_says_where(system: Deployment) -> None:
    broken = VECTOR_ADD.replace("tl.load(x_ptr", "tl.laod(x_ptr")
    line = 1 + next(i for i, text in enumerate(broken.split("\n")) if "tl.laod" in text)

    text = await said(system, "launch", **LAUNCHED | {"source": broken})

    assert f"user.py:{line}:" in text
    assert f"line {line}" in text.splitlines()[-1]


async def test_a_long_answer_is_cut_and_says_so(system: Deployment) -> None:
    kernels = "".join(
        f"@triton.jit\ndef kernel_{number}(a, b, c):\n    pass\n\n" for number in range(400)
    )

    text = await said(system, "inspect", source=f"import triton\n\n{kernels}")

    assert "kernel_0(a, b, c)" in text
    assert "more bytes]" in text


def posted(
    client: httpx.Client, tool: str = "targets", given: Any = None, **headers: str
) -> httpx.Response:
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": given or {}},
    }
    usual = {"accept": "application/json, text/event-stream"}
    return client.post("/mcp", json=body, headers=usual | headers)


def test_a_key_is_needed_and_its_scopes_hold(callers: dict[str, httpx.Client]) -> None:
    unknown = posted(callers["alice"], authorization="Bearer nothing")
    allowed = posted(callers["alice"])
    without_compile = posted(callers["runner"])

    assert (unknown.status_code, unknown.json()["slug"]) == (401, "unauthorized")
    assert allowed.status_code == 200
    assert allowed.json()["result"].get("isError") is not True
    assert "lacks the scope 'compile'" in without_compile.json()["result"]["content"][0]["text"]


def test_a_key_of_another_namespace_is_not_found(callers: dict[str, httpx.Client]) -> None:
    mine = callers["alice"].post("/v1/compilations", json=COMPILED)
    assert mine.status_code in (200, 202), mine.text
    key = mine.json()["key"]

    found = [
        posted(callers["eve"], tool, given).json()["result"]
        for tool, given in (
            ("explain", {"key": key}),
            ("compare", {"first": key, "second": key}),
        )
    ]

    assert all(one["isError"] for one in found)
    assert all("Refused" in one["content"][0]["text"] for one in found)


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"source": "x", "target": "cuda:90", "options": [[]] * 100}, id="a list"),
        pytest.param({"key": "../v1/system"}, id="a path"),
        pytest.param({"key": "a" * 100_000}, id="a long key"),
        pytest.param({"key": "ab?admin=1#x"}, id="a query"),
        pytest.param({"key": {"a": {"b": {}}}}, id="an object"),
        pytest.param({"first": "..%2f..%2fv1%2fsystem", "second": "."}, id="an encoded path"),
        pytest.param({"unknown" * 1000: 1}, id="a long name"),
    ],
)
@pytest.mark.parametrize("tool", ["compile", "explain", "compare", "targets" * 1000])
def test_hostile_arguments_get_a_short_refusal(
    callers: dict[str, httpx.Client], tool: str, given: Any
) -> None:
    answer = posted(callers["alice"], tool, given)

    assert answer.status_code == 200
    assert answer.json()["result"]["isError"], answer.text
    assert len(answer.content) < 20_000


def test_pages_of_others_and_other_bodies_are_refused(http: httpx.Client) -> None:
    assert posted(http, origin="https://elsewhere.example").status_code == 403
    assert posted(http, host="elsewhere.example").status_code == 421
    text = http.post("/mcp", content=b"{}", headers={"content-type": "text/plain"})
    assert (text.status_code, text.json()["slug"]) == (415, "unsupported_media_type")
    assert http.get("/mcp").status_code == 405
    large = http.post(
        "/mcp", content=b" " * (9 << 20), headers={"content-type": "application/json"}
    )
    assert (large.status_code, large.json()["slug"]) == (413, "too_large")


def test_the_library_is_not_loaded_before_it_is_asked() -> None:
    """Loading it takes as long as the rest of the service's start."""
    asks = "import sys, service.application; sys.exit('mcp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", asks], cwd=ROOT, timeout=60).returncode == 0


def test_a_message_is_shorter_than_other_bodies(http: httpx.Client) -> None:
    answer = http.post(
        "/mcp", content=b"[" + b" " * (2 << 20), headers={"Content-Type": "application/json"}
    )

    assert answer.status_code == 413
    assert answer.json()["limit"] == 2 << 20


def test_a_message_of_many_values_is_refused_before_it_is_read(http: httpx.Client) -> None:
    answer = http.post(
        "/mcp",
        content=b"[" + b"{}," * 600_000 + b"{}]",
        headers={"Content-Type": "application/json"},
    )

    assert answer.status_code == 413
    assert answer.json()["limit"] == 50_000


async def test_prove_shows_the_sizes_that_break_a_kernel(system: Deployment) -> None:
    kernel = {name: COMPILED[name] for name in ("source", "signature", "constexprs")}
    names = list(kernel["signature"])
    contract = f"{names[0]}: {names[-1]}\n{names[1]}: {names[-1]}\n{names[2]}: {names[-1]} - 1\n"

    text = await said(
        system, "prove", **kernel, contract=contract + f"grid: cdiv({names[-1]}, BLOCK_SIZE)\n"
    )

    assert f"store {names[2]}: in bounds: refuted at {names[-1]} = 1" in text
    assert re.search(r"re-checked: at least \d+ runs agree with each proof; the bit-vec", text)
    assert "; proved with: tl.store(" in text
    assert "fix the refuted line" in text.splitlines()[-1]
