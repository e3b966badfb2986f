"""Files by digest: a text that a namespace posted with a module need not be sent again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

Teams = Callable[[str], httpx.Client]
KERNEL = """import triton
import triton.language as tl

from .config import VALUE

@triton.jit
def k(x_ptr):
    tl.store(x_ptr, VALUE)
"""
COMPILATION = {
    "module": "pkg.kernels",
    "signature": {"x_ptr": "*fp32"},
    "target": "cuda:90",
    "stop_after": "ttir",
    "include": ["ttir"],
}


def config(value: float) -> str:
    return f"import triton.language as tl\nVALUE = tl.constexpr({value})\n"


def named(text: str) -> dict[str, str]:
    return {"digest": "sha256:" + hashlib.sha256(text.encode()).hexdigest()}


def body(file: Any, comment: str = "", **changes: Any) -> dict[str, Any]:
    files = {"pkg/config.py": file, "pkg/__init__.py": ""}
    return {**COMPILATION, "source": f"{KERNEL}# {comment}\n", "files": files, **changes}


def compiled(client: httpx.Client, posted: dict[str, Any]) -> dict[str, Any]:
    answer = client.post("/v1/compilations?wait=60", json=posted)
    assert answer.status_code == 200, answer.text
    made: dict[str, Any] = answer.json()
    return made


def refused(client: httpx.Client, path: str, posted: dict[str, Any]) -> dict[str, Any]:
    answer = client.post(path, json=posted)
    assert answer.status_code == 422, answer.text
    problem: dict[str, Any] = answer.json()
    return problem


def test_a_digest_names_a_text_that_was_posted(http: httpx.Client) -> None:
    text = config(11.0)
    compiled(http, body(text))

    made = compiled(http, body(named(text), "another source"))

    assert made["state"] == "succeeded", made["problem"]
    assert "1.100000e+01" in made["included"]["ttir"]
    request = http.get(f"{made['url']}/request").json()
    assert request["files"]["pkg/config.py"] == text


def test_a_large_text_is_filled_in_as_well(http: httpx.Client) -> None:
    text = config(12.0) + "# " + "é" * 400_000 + "\n"
    compiled(http, body(text))

    assert compiled(http, body(named(text), "large"))["state"] == "succeeded"


def test_an_unknown_digest_is_refused_with_its_pointer(http: httpx.Client) -> None:
    unknown = named("never posted")
    files = {"pkg/config.py": unknown, "pkg/__init__.py": "", "pkg/other.py": unknown}

    problem = refused(http, "/v1/compilations", body("", files=files))

    assert problem["slug"] == "unknown_digest"
    pointers = [error["pointer"] for error in problem["errors"]]
    assert pointers == ["/files/pkg~1config.py", "/files/pkg~1other.py"]
    assert compiled(http, body(config(13.0)))["state"] == "succeeded"  # as the problem advises


PLACES: dict[str, tuple[str, Callable[[dict[str, Any]], dict[str, Any]], str]] = {
    "a launch": ("/v1/launches", lambda kernel: {
        "compilation": kernel, "device": "cpu", "grid": [1],
        "arguments": {"x_ptr": {"shape": [1], "dtype": "fp32", "output": True}},
    }, "/compilation"),
    "a proof": ("/v1/proofs", lambda kernel: {**kernel, "contract": "x_ptr: 1\ngrid: 1"}, ""),
    "a sweep": ("/v1/sweeps", lambda kernel: {
        "base": kernel, "space": {"options.num_warps": [1, 2]},
    }, "/base"),
    "a sweep of launches": ("/v1/sweeps", lambda kernel: {
        "base": {
            "compilation": kernel, "device": "cpu", "grid": [1],
            "arguments": {"x_ptr": {"shape": [1], "dtype": "fp32", "output": True}},
        },
        "space": {"options.num_warps": [1, 2]},
    }, "/base/compilation"),
    "an inspection": ("/v1/inspect", lambda kernel: {
        name: kernel[name] for name in ("source", "module", "files")
    }, ""),
}  # fmt: skip


@pytest.mark.parametrize(("path", "make", "at"), PLACES.values(), ids=PLACES)
def test_every_source_takes_digests(
    http: httpx.Client, path: str, make: Callable[[Any], dict[str, Any]], at: str
) -> None:
    text = config(14.0)
    compiled(http, body(text))
    kernel = body(named(text), f"for {path}")
    del kernel["include"], kernel["stop_after"]

    done = http.post(path, params={"wait": 60}, json=make(kernel))
    unknown = {**kernel, "files": {"pkg/config.py": named("never posted")}}
    problem = refused(http, path, make(unknown))

    assert done.status_code == 200, done.text
    assert done.json()["state"] in {"succeeded", "completed"}, done.text
    assert problem["slug"] == "unknown_digest"
    assert problem["errors"][0]["pointer"] == f"{at}/files/pkg~1config.py"


def test_items_of_a_batch_take_digests_and_an_unknown_one_is_its_own_problem(
    http: httpx.Client,
) -> None:
    text = config(15.0)
    compiled(http, body(text))
    requests = [body(named(text), "of a batch"), body(named("never posted"), "of a batch")]

    answer = http.post(
        "/v1/batches?wait=60", json={"kind": "compilations", "requests": requests}
    ).json()

    good, bad = answer["items"]
    assert good["state"] == "succeeded"
    assert bad["problem"]["slug"] == "unknown_digest"


def test_a_launch_keeps_its_texts_too(http: httpx.Client) -> None:
    text = config(16.0)
    _, make, _ = PLACES["a launch"]
    kernel = body(text, "launched")
    del kernel["include"], kernel["stop_after"]
    http.post("/v1/launches?wait=60", json=make(kernel)).raise_for_status()

    assert compiled(http, body(named(text), "compiled"))["state"] == "succeeded"


def test_only_the_texts_of_modules_are_kept(http: httpx.Client) -> None:
    text = config(17.0)
    posted = body(text)
    del posted["module"]
    compiled(http, posted)

    assert refused(http, "/v1/compilations", body(named(text)))["slug"] == "unknown_digest"


def test_another_namespace_does_not_have_them(teams: Teams) -> None:
    text = config(18.0)
    compiled(teams("alice"), body(text))

    problem = refused(teams("eve"), "/v1/compilations", body(named(text)))

    assert compiled(teams("bob"), body(named(text), "bob's"))["state"] == "succeeded"
    assert problem["slug"] == "unknown_digest"


def test_what_is_no_text_is_unknown(http: httpx.Client) -> None:
    made = compiled(http, body(config(19.0), stop_after="cubin", include=[]))
    cubin = {"digest": made["artifacts"]["cubin"]["digest"]}

    assert refused(http, "/v1/compilations", body(cubin))["slug"] == "unknown_digest"


BAD: dict[str, tuple[Any, str]] = {
    "no digest": ({"digest": "md5:1"}, '"sha256:" and 64 hexadecimal digits'),
    "no text": ({"digest": 1}, '"sha256:" and 64 hexadecimal digits'),
    "another member": ({"digest": "sha256:" + "0" * 64, "x": 1}, "string"),
}


@pytest.mark.parametrize(("file", "said"), BAD.values(), ids=BAD)
def test_what_is_not_a_digest_is_refused(http: httpx.Client, file: Any, said: str) -> None:
    problem = refused(http, "/v1/compilations", body(file))

    assert problem["slug"] == "invalid_request"
    assert said in problem["detail"]


def test_a_module_may_have_more_files_than_a_source_and_both_have_a_limit(
    http: httpx.Client,
) -> None:
    files = {f"pkg/m{number}.py": "" for number in range(510)}
    posted = body(config(20.0))
    posted["files"] |= files
    more = {**posted, "files": posted["files"] | {"pkg/more.py": ""}}
    alone = {name: value for name, value in posted.items() if name != "module"}

    assert compiled(http, posted)["state"] == "succeeded"
    assert (
        "513 files; the limit is 512 with `module`"
        in (refused(http, "/v1/compilations", more)["detail"])
    )
    assert "the limit is 64" in refused(http, "/v1/compilations", alone)["detail"]


def test_many_digests_of_one_large_text_are_too_large(http: httpx.Client) -> None:
    text = config(21.0) + "#" * 1_000_000
    compiled(http, body(text))
    files = {f"pkg/m{number}.py": named(text) for number in range(9)}

    answer = http.post("/v1/compilations", json=body("", files=files))

    assert (answer.status_code, answer.json()["slug"]) == (413, "too_large")


def test_absent_modules_need_a_module(http: httpx.Client) -> None:
    posted = body(config(22.0), absent=["vllm"])
    del posted["module"]

    problem = refused(http, "/v1/compilations", posted)

    assert problem["errors"][0]["pointer"] == "/absent"


def test_an_inspection_reads_the_autotuner_of_a_module_and_names_what_it_needs(
    http: httpx.Client,
) -> None:
    source = (
        "import triton\nimport triton.language as tl\nfrom .config import SIZE\n\n"
        "@triton.autotune(configs=[triton.Config({'B': SIZE})], key=[])\n@triton.jit\n"
        "def k(x_ptr, B: tl.constexpr):\n    tl.store(x_ptr, B)\n"
    )
    asked = {"source": source, "module": "pkg.kernels", "target": "cuda:90"}

    lacking = http.post("/v1/inspect?wait=60", json=asked).json()
    files = {"pkg/config.py": "SIZE = 64\n"}
    whole = http.post("/v1/inspect?wait=60", json={**asked, "files": files}).json()

    assert lacking["problem"]["needs"] == ["pkg.config"]
    assert '"B":64' in json.dumps(whole["autotune"]["configs"], separators=(",", ":"))
