"""The client sends a file with its module name, then what the service asks for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
import tritonc
from tritonc.exchange import Request
from tritonc.packages.package import Package
from tritonc.packages.sent_texts import digest_of

from tests.integration.service.command_runs import run
from tests.integration.service.running import Deployment

HEAD = "import triton\nimport triton.language as tl\n"
SCALE = """

@triton.jit
def scale(x_ptr, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x_ptr + o, tl.load(x_ptr + o, mask=o < n) * FACTOR, mask=o < n)
"""
MODULES = 80
TREE = {
    # a chain of modules, in a package one of whose folders has no __init__.py
    "mypkg/__init__.py": "import vllm\nfrom mypkg import unused\n",
    "mypkg/kernels/scale.py": f"{HEAD}from mypkg.utils.name import named\n"
    f"from ..config import ON\nFACTOR = tl.constexpr(len(named('four')))\n{SCALE}",
    "mypkg/config.py": "ON = True\n",
    "mypkg/utils/__init__.py": "",
    "mypkg/utils/name.py": "from .same import same\n\ndef named(name):\n    return same(name)\n",
    "mypkg/utils/same.py": "def same(name):\n    return name\n",
    "mypkg/unused.py": "",
    # a kernel that needs nothing of all that it imports
    "many.py": "".join(f"import big.m{n}\n" for n in range(MODULES))
    + f"{HEAD}FACTOR = tl.constexpr(2)\n{SCALE}",
    **{f"big/m{n}.py": f"N = {n}\n" for n in range(MODULES)},
    "my-kernel.py": f"{HEAD}from helper import FACTOR\n{SCALE}",
    "helper.py": "import triton.language as tl\nFACTOR = tl.constexpr(3)\n",
    "fast.py": f"{HEAD}try:\n    from vllm.fast import FACTOR\nexcept ImportError:\n"
    f"    FACTOR = tl.constexpr(5)\n{SCALE}",
}
TYPES = ["--signature", "*fp32:16,i32", "--constexpr", "B=128", "--target", "cuda:90"]
LAUNCH = [
    "--constexpr", "B=128", "--device", "cpu", "--grid", "1", "--argument",
    "x_ptr=fp32[128]:ones:output", "n=128", "--return", "x_ptr=values",
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in TREE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def request_of(http: httpx.Client, key: str) -> dict[str, Any]:
    request: dict[str, Any] = http.get(f"/v1/compilations/{key}/request").json()
    return request


def test_a_kernel_of_a_package_brings_what_it_needs_from_anywhere(
    system: Deployment, http: httpx.Client, folder: Path
) -> None:
    path = str(folder / "mypkg" / "kernels" / "scale.py")

    done = run(system.url, "--json", "compile", path, *TYPES, folder=Path("/"))

    assert done.returncode == 0, done.stderr
    assert "scale for cuda:90: 6 of 7 modules of `mypkg` were needed" in done.stderr
    request = request_of(http, json.loads(done.stdout)["key"])
    assert request["module"] == "mypkg.kernels.scale"
    assert sorted(request["files"]) == [
        "mypkg/__init__.py",
        "mypkg/config.py",
        "mypkg/utils/__init__.py",
        "mypkg/utils/name.py",
        "mypkg/utils/same.py",
    ]


def test_many_imports_that_a_kernel_does_not_need_are_not_sent(
    system: Deployment, http: httpx.Client, folder: Path
) -> None:
    done = run(system.url, "--json", "compile", "many.py", *TYPES, folder=folder)
    inspected = run(system.url, "inspect", "many.py", folder=folder)

    assert done.returncode == 0, done.stderr
    assert request_of(http, json.loads(done.stdout)["key"])["files"] == {}
    assert inspected.returncode == 0, inspected.stderr


def test_a_file_that_no_import_can_name_finds_the_modules_next_to_it(
    system: Deployment, http: httpx.Client, folder: Path
) -> None:
    done = run(system.url, "--json", "compile", "my-kernel.py", *TYPES, folder=folder)

    assert done.returncode == 0, done.stderr
    request = request_of(http, json.loads(done.stdout)["key"])
    assert (request["module"], sorted(request["files"])) == ("user", ["helper.py"])


def test_what_is_not_installed_is_absent(
    system: Deployment, http: httpx.Client, folder: Path
) -> None:
    done = run(system.url, "--json", "compile", "fast.py", *TYPES, folder=folder)

    assert done.returncode == 0, done.stderr
    assert request_of(http, json.loads(done.stdout)["key"])["absent"] == ["vllm"]


def test_without_local_imports_what_is_asked_for_is_absent_but_for_named_files(
    system: Deployment, folder: Path
) -> None:
    words = ["compile", "my-kernel.py", *TYPES, "--no-local-imports"]

    without = run(system.url, *words, folder=folder)
    named = run(system.url, *words, "--file", "helper.py=helper.py", folder=folder)

    assert without.returncode == 1
    assert "No module named 'helper'" in without.stderr
    assert named.returncode == 0, named.stderr


def test_every_command_that_executes_a_file_brings_what_it_needs(
    system: Deployment, folder: Path
) -> None:
    file = "mypkg/kernels/scale.py"
    contract = folder / "scale.contract"
    contract.write_text("x_ptr: n\n1 <= n <= 1000\ngrid: cdiv(n, 128)\n")
    runs = {
        "launch": ["launch", file, *LAUNCH],
        "sweep": ["sweep", file, *TYPES, "--space", "num_warps=1,2"],
        "sweep of launches": ["sweep", file, *LAUNCH[:-2], "--space", "num_warps=1,2"],
        "diff": ["diff", file, *TYPES, "--before", "num_warps=1", "--after", "num_warps=1"],
        "explain": ["explain", file, *TYPES],
        "prove": ["prove", file, *TYPES[:4], "--contract", str(contract)],
    }
    for name, words in runs.items():
        done = run(system.url, *words, folder=folder)
        assert done.returncode == 0, (name, done.stdout, done.stderr)


def test_the_gate_brings_what_a_kernel_needs(system: Deployment, folder: Path) -> None:
    (folder / "kernels.toml").write_text(
        '[matrix]\ntargets = ["cuda:90"]\n[budgets]\nregisters = 255\n[kernels.scale]\n'
        "source = 'mypkg/kernels/scale.py'\nsignature = '*fp32:16,i32'\nconstexprs = {B = 128}\n"
    )

    done = run(system.url, "gate", folder=folder)

    assert done.returncode == 0, (done.stdout, done.stderr)


class Recording(httpx.HTTPTransport):
    """Notes the `files` of each request, and the status of its answer."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[tuple[dict[str, Any], int]] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = super().handle_request(request)
        if request.method == "POST":
            self.sent.append((json.loads(request.content).get("files", {}), answer.status_code))
        return answer


def compiled(client: tritonc.Client, path: Path, block: int) -> tritonc.Compilation:
    return client.compile(
        path.read_text(),
        signature="*fp32:16,i32",
        constexprs={"B": block},
        target="cuda:90",
        package=Package.of_file(path, path.read_text()),
    )


def test_modules_that_a_launch_lacks_are_sent(system: Deployment, folder: Path) -> None:
    path = folder / "launches.py"
    launch = "from sizes import x\nscale[(1,)](x(), 8, B=8)\n"
    path.write_text(f"{HEAD}FACTOR = tl.constexpr(2)\n{SCALE}\n\n{launch}")
    (folder / "sizes.py").write_text("import torch\n\ndef x():\n    return torch.empty(8)\n")
    package = Package.of_file(path, path.read_text())

    with tritonc.Client(system.url) as client:
        (kernel,) = client.inspect(path.read_text(), package=package)["kernels"]

    assert [*package.files] == ["sizes.py"]
    assert kernel["launch"]["options"] == {}


def test_the_second_request_names_texts_by_their_digests(system: Deployment, folder: Path) -> None:
    helper = TREE["helper.py"] + "#" * 200
    (folder / "helper.py").write_text(helper)
    recording = Recording()

    with tritonc.Client(system.url, transport=recording) as client:
        for block in (64, 128):
            compiled(client, folder / "my-kernel.py", block)

    digest = {"digest": digest_of(helper)}
    texts = [files["helper.py"] for files, _ in recording.sent if files]
    assert texts == [helper, digest]


def test_texts_that_the_service_has_lost_are_sent_again(system: Deployment, folder: Path) -> None:
    helper = TREE["helper.py"] + "#" * 300
    (folder / "helper.py").write_text(helper)
    recording = Recording()

    with tritonc.Client(system.url, transport=recording) as client:
        source = {"module": "user", "files": {"helper.py": helper}}
        client._connection._texts.note(Request("POST", "/v1/compilations", source))
        compiled(client, folder / "my-kernel.py", 256)

    digest = {"digest": digest_of(helper)}
    assert recording.sent[1:] == [({"helper.py": digest}, 422), ({"helper.py": helper}, 200)]
