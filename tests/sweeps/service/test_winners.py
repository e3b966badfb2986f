"""A search's winners: Python to paste, and a cache that Triton itself loads.

Times come from a fake GPU (see searching.py); all else is real.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import httpx
import pytest
import triton

from benchmarks.gpu.launch_bodies import ADD
from compiler.target import parse_target
from tests.integration.compiler.front.autotuned import run_tuner
from tests.integration.service.derived.test_triton_cache import jit
from tests.sweeps.service.searching import SHORT, SIZE, TWICE_AS_LARGE, base
from tests.sweeps.service.test_sweeps import post_sweep

# without its host side: there is no torch here to run it
KERNEL = ADD[: ADD.index("def add(")].replace("import torch\n", "")
PLAIN = KERNEL.replace('DEVICE = torch.device("cuda")\n', "")
TUNED = PLAIN.replace(
    "@triton.jit",
    """@triton.autotune(
    configs=[
        triton.Config({"BLOCK_SIZE": block}, num_warps=warps)
        for block in (256, 512, 1024)
        for warps in (2, 4)
    ],
    key=["n_elements"],
)
@triton.jit""",
    1,
)
CUDA = parse_target("cuda:90")
TENSORS = {name: {"tensor": "torch.float32"} for name in ("x_ptr", "y_ptr", "output_ptr")}
MOCKED = {name: {"tensor": "float32"} for name in TENSORS}


@pytest.fixture(scope="module")
def searched(gpu: httpx.Client) -> dict[str, Any]:
    space = {"autotune": True, "arguments": {"one": {}, "two": TWICE_AS_LARGE}}
    sweep: dict[str, Any] = post_sweep(gpu, base=base(TUNED), space=space, search=SHORT).json()
    won = {winner["problem_size"]: winner["values"] for winner in sweep["winners"]}
    assert {size: values["constexprs.BLOCK_SIZE"] for size, values in won.items()} == {
        "one": 256,
        "two": 512,
    }, sweep
    return sweep


def taken(gpu: httpx.Client, sweep: dict[str, Any], form: str, **query: Any) -> httpx.Response:
    return gpu.get(f"{sweep['url']}/winners/{form}", params={"wait": 60, **query})


def unpacked(answer: httpx.Response, folder: Path) -> list[str]:
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"] == "application/x-tar"
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as archive:
        archive.extractall(folder, filter="data")
        return archive.getnames()


def test_json_has_the_whole_request_of_each_winner(
    gpu: httpx.Client, searched: dict[str, Any]
) -> None:
    reported = taken(gpu, searched, "json").json()

    assert (reported["sweep"], reported["without"]) == (searched["url"], [])
    one, two = reported["winners"]
    assert one.items() >= searched["winners"][0].items()
    assert one["options"]["num_warps"] == 4
    request = two["request"]
    assert request["compilation"]["constexprs"]["BLOCK_SIZE"] == 512
    assert request["arguments"]["n_elements"] == 2 * SIZE


def test_configurations_to_paste_are_python(gpu: httpx.Client, searched: dict[str, Any]) -> None:
    answer = taken(gpu, searched, "triton-config")

    assert answer.headers["Content-Type"].startswith("text/x-python")
    namespace: dict[str, Any] = {}
    exec(compile(answer.text, "pasted.py", "exec"), namespace)
    assert [config.all_kwargs() for config in namespace["configs"]] == [
        triton.Config({"BLOCK_SIZE": block}, num_warps=4).all_kwargs() for block in (256, 512)
    ]
    assert "# one on cuda:90: " in answer.text


def test_tritons_autotuner_loads_the_winners_and_times_nothing(
    gpu: httpx.Client, searched: dict[str, Any], tmp_path: Path
) -> None:
    unpacked(taken(gpu, searched, "autotune-cache"), tmp_path / "cache")

    def chosen(n: int) -> dict[str, Any]:
        call = TENSORS | {"n_elements": n}
        return run_tuner(tmp_path, TUNED, "add_kernel", call, CUDA)

    assert chosen(SIZE)["chosen"]["BLOCK_SIZE"] == 256
    assert chosen(2 * SIZE)["chosen"]["BLOCK_SIZE"] == 512
    assert chosen(SIZE + 1) == {"benchmarked": True}


def install(folder: Path) -> None:
    environment = {"TRITON_CACHE_DIR": str(folder / "cache"), "PATH": os.environ["PATH"]}
    program = folder / "bundle" / "install.py"
    subprocess.run([sys.executable, program], env=environment, check=True, capture_output=True)


def test_of_a_bundle_nothing_is_compiled_or_timed_again(
    gpu: httpx.Client, searched: dict[str, Any], tmp_path: Path
) -> None:
    names = unpacked(taken(gpu, searched, "bundle"), tmp_path / "bundle")
    install(tmp_path)

    said = json.loads((tmp_path / "bundle" / "bundle.json").read_text())
    assert said["left_out"] == []
    assert [entry["target"] for entry in said["entries"]] == ["cuda:90"] * 2
    assert {"install.py", "bundle.json", "triton_config.py"} < set(names)
    call = TENSORS | {"n_elements": SIZE}
    tuned = run_tuner(tmp_path, TUNED, "add_kernel", call, CUDA)
    assert tuned["chosen"]["BLOCK_SIZE"] == 256
    hit = jit(
        tmp_path / "cache",
        TUNED,
        "add_kernel",
        MOCKED | {"n_elements": SIZE, "BLOCK_SIZE": 256},
        num_warps=4,
        num_stages=3,
        num_ctas=1,
    )
    assert hit["cache_hit"] == [True]


def test_a_product_on_an_autotuned_source_is_cached_as_well(
    gpu: httpx.Client, tmp_path: Path
) -> None:
    space = {"constexprs": {"BLOCK_SIZE": [256, 512]}, "options": {"num_warps": [4]}}
    sweep = post_sweep(gpu, base=base(TUNED), space=space, search=SHORT).json()
    unpacked(taken(gpu, sweep, "autotune-cache"), tmp_path / "cache")

    call = TENSORS | {"n_elements": SIZE}
    tuned = run_tuner(tmp_path, TUNED, "add_kernel", call, CUDA)

    assert tuned["chosen"]["BLOCK_SIZE"] == 256


def test_two_sizes_of_one_tuning_key_cannot_have_two_winners(gpu: httpx.Client) -> None:
    source = TUNED.replace('key=["n_elements"]', "key=[]").replace("(2, 4)", "(4,)")
    space = {"autotune": True, "arguments": {"one": {}, "two": TWICE_AS_LARGE}}
    sweep = post_sweep(gpu, base=base(source), space=space, search=SHORT).json()

    answer = taken(gpu, sweep, "autotune-cache")

    assert (answer.status_code, answer.json()["slug"]) == (422, "not_derivable")
    assert "two on cuda:90 and one on cuda:90 have one tuning key" in answer.json()["detail"]


def test_a_source_without_autotuner_has_no_file_for_it(gpu: httpx.Client) -> None:
    space = {"constexprs": {"BLOCK_SIZE": [256, 512]}, "options": {"num_warps": [4]}}
    sweep = post_sweep(gpu, base=base(PLAIN), space=space, search=SHORT).json()

    answer = taken(gpu, sweep, "autotune-cache")

    assert (answer.status_code, answer.json()["slug"]) == (422, "not_derivable")
    assert "it has no @triton.autotune that would read a cache" in answer.json()["detail"]
    bundle = taken(gpu, sweep, "bundle")
    assert bundle.status_code == 200


def test_a_sweep_over_compilations_has_no_winner_but_a_bundle_of_all(
    gpu: httpx.Client, tmp_path: Path
) -> None:
    compilation = base(PLAIN)["compilation"] | {
        "signature": dict.fromkeys(TENSORS, "*fp32:16") | {"n_elements": "i32:16"}
    }
    space = {
        "constexprs": {"BLOCK_SIZE": [256, 100, 512]},
        "target": ["cuda:90", "cuda:80", "hip:gfx942"],
    }
    sweep = post_sweep(gpu, base=compilation, space=space).json()

    refused = taken(gpu, sweep, "triton-config")
    assert (refused.status_code, refused.json()["slug"]) == (404, "no_winner")
    assert "measures no times" in refused.json()["detail"]
    early = taken(gpu, sweep, "bundle", of="all", wait=0)
    assert (early.status_code, early.headers["Retry-After"]) == (202, "1")
    assert early.json()["url"] == f"{sweep['url']}/winners/bundle?of=all"
    answer = taken(gpu, sweep, "bundle", of="all")
    assert int(answer.headers["Content-Length"]) == len(answer.content)
    unpacked(answer, tmp_path / "bundle")
    said = json.loads((tmp_path / "bundle" / "bundle.json").read_text())
    targets = sorted(entry["target"] for entry in said["entries"])
    assert targets == sorted(["cuda:80", "cuda:90", "hip:gfx942"] * 2)
    install(tmp_path)
    arguments = MOCKED | {"n_elements": 1024, "BLOCK_SIZE": 512}
    for target in (["cuda", 90, 32], ["cuda", 80, 32]):
        hit = jit(tmp_path / "cache", PLAIN, "add_kernel", arguments, target=tuple(target))
        assert hit["cache_hit"] == [True]


def test_on_the_cpu_device_it_is_said_why_nothing_won(gpu: httpx.Client) -> None:
    space = {"constexprs": {"BLOCK_SIZE": [256]}}
    whole = base(device="cpu")
    searched = post_sweep(gpu, base=whole, space=space, search=SHORT).json()
    plain = post_sweep(gpu, base=whole, space=space).json()

    answer = taken(gpu, searched, "json")

    assert (answer.status_code, answer.json()["slug"]) == (404, "no_winner")
    assert "The CPU device has no times" in answer.json()["detail"]
    assert "it was asked for without a `search`" in taken(gpu, plain, "json").json()["detail"]


WRONG = {
    "another format": (
        "yaml",
        {},
        404,
        "the formats are json, triton-config, autotune-cache, bundle",
    ),
    "all of another format": ("json", {"of": "all"}, 422, "`of=all` is for a bundle"),
    "without a launch or program": ("bundle", {"of": "some"}, 422, ""),
}


@pytest.mark.parametrize(("form", "query", "status", "why"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_with_the_question_is_reported(
    gpu: httpx.Client,
    searched: dict[str, Any],
    form: str,
    query: dict[str, str],
    status: int,
    why: str,
) -> None:
    answer = taken(gpu, searched, form, **query)

    assert answer.status_code == status
    assert why in answer.json()["detail"]


def test_an_unknown_sweep_is_not_found(gpu: httpx.Client) -> None:
    assert gpu.get("/v1/sweeps/no-such/winners/json").status_code == 404
