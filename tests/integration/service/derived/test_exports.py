"""Exports over HTTP: available formats, contents and errors."""

from __future__ import annotations

import ast

import httpx
import pytest

from tests.integration.service import bodies
from tests.integration.service.conftest import Post
from tests.integration.service.derived.compiled import compiled, get

FORMATS = {
    "c": ("text/x-c", "add_kernel.h"),
    "cuda-inline": ("text/x-cuda", "add_kernel.cuh"),
    "rust": ("text/rust", "add_kernel.rs"),
    "python": ("text/x-python", "add_kernel.py"),
    "triton-cache": ("application/x-tar", "add_kernel.tar"),
}


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_has_a_type_and_a_file_name(http: httpx.Client, post: Post, form: str) -> None:
    answer = get(http, compiled(post, "vector_add"), f"exports/{form}")

    media_type, name = FORMATS[form]
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith(media_type)
    assert f'filename="{name}"' in answer.headers["content-disposition"]
    assert answer.headers["etag"]


def test_an_export_names_what_it_was_made_of(http: httpx.Client, post: Post) -> None:
    compilation = compiled(post, "vector_add")

    text = get(http, compilation, "exports/c").text

    assert compilation["key"] in text
    assert "x_ptr: *fp32; divisible by 16" in text
    assert "BLOCK_SIZE = " in text


def test_python_takes_the_arguments_of_the_kernel(http: httpx.Client, post: Post) -> None:
    tree = ast.parse(get(http, compiled(post, "vector_add"), "exports/python").text)

    (launch,) = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "launch"]
    names = [argument.arg for argument in launch.args.args]
    assert names == ["self", "grid", "x_ptr", "y_ptr", "output_ptr", "n_elements", "stream"]


def test_an_unknown_format(http: httpx.Client, post: Post) -> None:
    answer = get(http, compiled(post, "vector_add"), "exports/fortran")

    assert (answer.status_code, answer.json()["slug"]) == (404, "no_such_stage")
    assert "cuda-inline" in answer.json()["detail"]


@pytest.mark.parametrize("path", ["artifacts/sass", "exports/c", "exports/cuda-inline"])
def test_amd_compilations_lack_these_exports(http: httpx.Client, post: Post, path: str) -> None:
    answer = get(http, compiled(post, "vector_add", target="hip:gfx942"), path)

    assert (answer.status_code, answer.json()["slug"]) == (404, "no_such_stage")


@pytest.mark.parametrize("form", ["c", "rust", "python", "triton-cache"])
def test_a_compilation_that_stopped_before_the_cubin(
    http: httpx.Client, post: Post, form: str
) -> None:
    answer = get(http, compiled(post, "vector_add", stop_after="ptx"), f"exports/{form}")

    assert (answer.status_code, answer.json()["slug"]) == (404, "stage_not_reached")


def test_nothing_is_exported_of_a_failure(http: httpx.Client, post: Post) -> None:
    failed = post(bodies.broken("ptxas_error")).json()

    answer = get(http, failed, "exports/c")

    assert (answer.status_code, answer.json()["slug"]) == (404, "stage_not_reached")
    inline = get(http, failed, "exports/cuda-inline")
    assert (inline.status_code, inline.json()["slug"]) == (422, "not_derivable")
