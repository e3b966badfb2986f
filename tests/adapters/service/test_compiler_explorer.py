"""Compiler Explorer's API, with the requests of compiler-explorer.nvim."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.integration.compiler.kernels import KERNELS
from tests.integration.service.bodies import good

VECTOR_ADD = good("vector_add")["source"]
TYPES = "x_ptr=*fp32:16 y_ptr=*fp32:16 output_ptr=*fp32:16 n_elements=i32"
FLAGS = f"--signature {TYPES} --constexpr BLOCK_SIZE=1024"
JSON = {"accept": "application/json"}


def plug_in_body(source: str, flags: str, compiler: str, **filters: bool) -> dict[str, Any]:
    """Return a request of compiler-explorer.nvim; its JSON encodes an empty table as an object."""
    usual = {
        "binary": False,
        "commentOnly": True,
        "demangle": True,
        "directives": True,
        "execute": False,
        "intel": True,
        "labels": True,
        "libraryCode": True,
        "trim": False,
    }
    return {
        "source": source,
        "compiler": compiler,
        "lang": "triton",
        "allowStoreCodeDebug": True,
        "options": {
            "compilerOptions": {
                "produceCfg": False,
                "produceDevice": False,
                "produceGccDump": {},
                "produceLLVMOptPipeline": False,
                "producePp": False,
            },
            "filters": usual | filters,
            "libraries": {},
            "tools": {},
            "userArguments": flags,
        },
    }


def compiled(
    http: httpx.Client, compiler: str, source: str, flags: str, **filters: bool
) -> dict[str, Any]:
    body = plug_in_body(source, flags, compiler, **filters)
    answer = http.post(f"/api/compiler/{compiler}/compile", json=body, headers=JSON)
    assert answer.status_code == 200, answer.text
    return answer.json()


def said(result: dict[str, Any]) -> str:
    return "\n".join(line["text"] for line in result["stderr"])


@pytest.fixture(scope="module")
def version(http: httpx.Client) -> str:
    toolchains = http.get("/v1/targets").json()["toolchains"]
    return next(item["triton"] for item in toolchains if item["default"])


@pytest.fixture(scope="module")
def compiler(version: str) -> str:
    return f"triton{version}-cuda90"


def test_a_plug_in_finds_language_and_compiler(http: httpx.Client, compiler: str) -> None:
    [language] = http.get("/api/languages", headers=JSON).json()
    compilers = http.get("/api/compilers", headers=JSON).json()

    assert (language["id"], language["extensions"]) == ("triton", [".py"])
    [found] = [one for one in compilers if one["id"] == compiler]
    assert found["lang"] == language["id"]
    assert found["name"].endswith("cuda:90")
    assert found["instructionSet"] == "ptx"
    assert any("gfx942" in one["id"] for one in compilers)
    assert http.get("/api/compilers/triton", headers=JSON).json() == compilers
    assert http.get("/api/compilers/c++", headers=JSON).json() == []
    assert http.get("/api/libraries/triton", headers=JSON).json() == []


def test_lists_are_text_unless_json_is_asked_for(http: httpx.Client, compiler: str) -> None:
    answer = http.get("/api/compilers")

    assert answer.headers["content-type"].startswith("text/plain")
    assert any(line.startswith(f"{compiler} ") for line in answer.text.splitlines())


def test_fields_are_chosen(http: httpx.Client) -> None:
    compilers = http.get("/api/compilers", params={"fields": "id,semver"}, headers=JSON).json()

    assert all(one.keys() == {"id", "semver"} for one in compilers)


@pytest.mark.parametrize(
    "path",
    ["/api/libraries/triton", "/api/tools/triton", "/api/formats", "/source/builtin/list"],
)
def test_what_is_not_there_is_an_empty_list(http: httpx.Client, path: str) -> None:
    answer = http.get(path, headers=JSON)

    assert (answer.status_code, answer.json()) == (200, [])


def test_requests_of_compiler_explorer_el_are_answered(http: httpx.Client, compiler: str) -> None:
    asked = "id,name,extensions,example,defaultCompiler"
    [language] = http.get("/api/languages", params={"fields": asked}, headers=JSON).json()
    assert list(language) == asked.split(",")
    assert language["defaultCompiler"] == compiler
    asked = (
        "id,lang,name,groupName,instructionSet,supportsExecute,supportsBinary,"
        "supportsBinaryObject,supportsLibraryCodeFilter,supportsDemangle,supportsIntel,disabledFilters"
    )
    compilers = http.get("/api/compilers", params={"fields": asked}, headers=JSON).json()
    assert list(compilers[0]) == asked.split(",")

    body = {
        "source": language["example"],
        "options": {
            "userArguments": "",
            "executeParameters": {"args": "", "stdin": ""},
            "compilerOptions": {"skipAsm": False, "executorRequest": False},
            "filters": {"binary": False, "commentOnly": True, "directives": True, "labels": True},
            "tools": [],
            "libraries": [],
        },
        "allowStoreCodeDebug": False,
    }
    result = http.post(f"/api/compiler/{compiler}/compile", json=body, headers=JSON).json()
    assert result["code"] == 0, said(result)
    assert any(".entry add_kernel" in line["text"] for line in result["asm"])


def test_requests_of_cexpl_are_answered(http: httpx.Client, compiler: str) -> None:
    body = {
        "source": VECTOR_ADD,
        "options": {
            "compilerOptions": {"skipAsm": False},
            "executeParameters": {},
            "filters": {"execute": False},
            "userArguments": FLAGS,
        },
        "lang": "triton",
    }
    result = http.post(f"/api/compiler/{compiler}/compile", json=body, headers=JSON).json()

    assert result["code"] == 0, said(result)


def test_an_unknown_instruction_has_an_error_to_show(http: httpx.Client) -> None:
    answer = http.get("/api/asm/ptx/ld", headers=JSON)

    assert answer.status_code == 404
    assert "/api/asm/ptx/ld" in answer.json()["error"]


def test_assembly_lines_lead_to_the_source(http: httpx.Client, compiler: str) -> None:
    result = compiled(http, compiler, VECTOR_ADD, FLAGS)

    assert result["code"] == 0, result["stderr"]
    assert all(line.keys() == {"text", "source"} for line in result["asm"])
    lines = VECTOR_ADD.split("\n")
    loads = [line for line in result["asm"] if "ld.global" in line["text"]]
    assert loads
    assert all("tl.load" in lines[line["source"]["line"] - 1] for line in loads)
    assert {line["source"]["file"] for line in loads} == {None}
    assert not [line for line in result["asm"] if line["text"].lstrip().startswith((".loc", "//"))]
    assert http.get(result["compilation"]).json()["state"] == "succeeded"


@pytest.mark.parametrize(
    ("stage", "word"),
    [("ttir", "tt.load"), ("ttgir", "tt.load"), ("llir", "define"), ("sass", "LDG")],
)
def test_a_stage_is_chosen(http: httpx.Client, compiler: str, stage: str, word: str) -> None:
    result = compiled(http, compiler, VECTOR_ADD, f"{FLAGS} --stage={stage}")

    assert result["code"] == 0, result["stderr"]
    found = [line for line in result["asm"] if word in line["text"]]
    assert found
    assert any(line["source"] for line in result["asm"])


def test_binary_is_sass(http: httpx.Client, compiler: str) -> None:
    result = compiled(http, compiler, VECTOR_ADD, FLAGS, binary=True)

    assert any("LDG" in line["text"] for line in result["asm"])


def test_amd_has_its_assembly(http: httpx.Client, version: str) -> None:
    result = compiled(http, f"triton{version}-gfx942", VECTOR_ADD, FLAGS)

    assert any("global_load" in line["text"] for line in result["asm"]), result["stderr"]


def test_an_error_has_line_column_and_severity(http: httpx.Client, compiler: str) -> None:
    source = VECTOR_ADD.replace("tl.load(x_ptr", "tl.laod(x_ptr")

    result = compiled(http, compiler, source, FLAGS)

    assert result["code"] == 1
    assert result["asm"] == [{"text": "<Compilation failed>", "source": None}]
    tag = next(line["tag"] for line in result["stderr"] if line["tag"])
    assert "tl.laod" in source.split("\n")[tag["line"] - 1]
    assert (tag["severity"], tag["column"] > 1) == (3, True)
    assert tag["text"].startswith("error: ")


def test_a_source_that_is_no_python_says_where(http: httpx.Client, compiler: str) -> None:
    text = (KERNELS / "broken" / "colon_missing.py").read_text()

    result = compiled(http, compiler, text, "")

    assert result["code"] == 1
    assert [line["tag"]["severity"] for line in result["stderr"] if line["tag"]] == [3]


def test_annotations_and_the_first_configuration_are_enough(
    http: httpx.Client, compiler: str
) -> None:
    source = (
        "import triton\nimport triton.language as tl\n\n"
        "@triton.autotune(configs=[triton.Config({'BLOCK': 128}, num_warps=2)], key=[])\n"
        "@triton.jit\n"
        'def fill(x_ptr: "*fp16", value: "fp32", BLOCK: tl.constexpr):\n'
        "    tl.store(x_ptr + tl.arange(0, BLOCK), value)\n"
    )

    result = compiled(http, compiler, source, "")

    assert result["code"] == 0, result["stderr"]
    reported = "\n".join(line["text"] for line in result["stdout"])
    assert "x_ptr: *fp16, from its annotation" in reported
    assert "BLOCK=128, num_warps=2: the first of 1 autotune configurations" in reported
    request = http.get(f"{result['compilation']}/request").json()
    assert request["options"]["num_warps"] == 2


def test_missing_arguments_are_asked_for(http: httpx.Client, compiler: str) -> None:
    result = compiled(http, compiler, VECTOR_ADD, "--signature x_ptr=*fp32 y_ptr=*fp32")

    assert result["code"] == 1
    assert "--signature output_ptr=TYPE --signature n_elements=TYPE" in said(result)
    assert "--constexpr BLOCK_SIZE=VALUE" in said(result)
    [tag] = [line["tag"] for line in result["stderr"]]
    assert "def add_kernel" in "".join(VECTOR_ADD.split("\n")[tag["line"] - 1 : tag["line"] + 1])


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("-O3", "'-O3' is not a flag; write --kernel"),
        ("--kernal add_kernel", "Did you mean `--kernel`?"),
        ("--constexpr BLOCK_SIZE", "'BLOCK_SIZE' is not NAME=VALUE"),
        ("--stage", "--stage has no value"),
        ("--kernel 'add_kernel", "No closing quotation"),
        (f"{FLAGS} --stage cubin", "no stage 'cubin'"),
        (
            f"{FLAGS} --stage ptxx",
            "no stage 'ptxx' for cuda:90; write one of source, ttir, ttgir, llir, ptx, sass",
        ),
        (f"{FLAGS} --option num_wraps=4", "num_warps"),
        (f"{FLAGS} --constexpr 'A=\"\\ud800\"'", "JSON"),
    ],
)
def test_wrong_arguments_are_reported_on_stderr(
    http: httpx.Client, compiler: str, flags: str, message: str
) -> None:
    body = plug_in_body(VECTOR_ADD, flags, compiler)

    answer = http.post(f"/api/compiler/{compiler}/compile", json=body, headers=JSON)

    text = said(answer.json()) if answer.status_code == 200 else answer.json()["detail"]
    assert message in text


def test_a_compiler_that_there_is_not_is_named_in_error_too(http: httpx.Client) -> None:
    answer = http.post("/api/compiler/g63/compile", json={"source": "x"}, headers=JSON)

    assert answer.status_code == 404
    assert answer.json()["error"] == answer.json()["detail"]
    assert "GET /api/compilers" in answer.json()["error"]


def test_the_answer_is_text_unless_json_is_asked_for(http: httpx.Client, compiler: str) -> None:
    body = plug_in_body(VECTOR_ADD, FLAGS, compiler)

    answer = http.post(f"/api/compiler/{compiler}/compile", json=body)

    assert answer.headers["content-type"].startswith("text/plain")
    assert ".visible .entry add_kernel(" in answer.text


def test_a_key_is_needed_where_others_need_one(callers: dict[str, httpx.Client]) -> None:
    runner, alice = callers["runner"], callers["alice"]

    assert runner.get("/api/compilers").status_code == 403
    answer = runner.post("/api/compiler/x/compile", json={"source": "x"})
    assert (answer.status_code, answer.json()["slug"]) == (403, "forbidden")
    unknown = alice.get("/api/compilers", headers={"authorization": "Bearer nothing"})
    assert unknown.status_code == 401
    assert unknown.headers["www-authenticate"] == "Bearer"
    assert unknown.json()["instance"] == "/api/compilers"
    assert alice.get("/api/compilers").status_code == 200


def test_a_page_of_another_origin_reaches_nothing(http: httpx.Client, compiler: str) -> None:
    headers = {"origin": "https://elsewhere.example"}
    body = {"source": VECTOR_ADD}

    answer = http.post(f"/api/compiler/{compiler}/compile", json=body, headers=headers)

    assert answer.status_code == 403
