"""Requests of editor plug-ins to Compiler Explorer's API."""

from __future__ import annotations

from typing import Any

import httpx

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
