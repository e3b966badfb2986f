"""IR written to harm: it ends by name, reads no file, and the next job is fine."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cases import slow_except
from tests.integration.service import bodies
from tests.integration.service.conftest import Post

STORE = "    %one = arith.constant 1 : i32\n    tt.store %x, %one : !tt.ptr<i32>\n"
CANARY = "CANARY-c5e1f0"


def module(
    body: str = STORE, attributes: str = "", more: str = "", parameters: str = "%x: !tt.ptr<i32>"
) -> str:
    return (
        f"module attributes {{{attributes}}} {{\n  tt.func public @k({parameters}) {{\n{body}\n"
        f"    tt.return\n  }}\n{more}}}\n"
    )


def assembly(text: str) -> str:
    return module(
        "    %one = arith.constant 1 : i32\n"
        f'    %v = tt.elementwise_inline_asm "{text}" '
        '{constraints = "=r,r", packed_element = 1 : i32, pure = false} %one : i32 -> i32\n'
        "    tt.store %x, %v : !tt.ptr<i32>\n"
    )


def doubling(count: int, alias: Callable[[int], str], first: str) -> str:
    """Return aliases, each of which names the one before twice."""
    return "\n".join([first, *map(alias, range(1, count))]) + "\n"


def loop(attributes: str) -> str:
    return module(
        "%l = arith.constant 0 : i32\n%u = arith.constant 1000 : i32\n%s = arith.constant 1 : i32\n"
        "scf.for %i = %l to %u step %s : i32 {\n  %p = tt.addptr %x, %i : !tt.ptr<i32>, i32\n"
        "  %v = tt.load %p : !tt.ptr<i32>\n  tt.store %x, %v : !tt.ptr<i32>\n} "
        f"{{{attributes}}}\n"
    )


def calls(depth: int) -> str:
    """Return functions, each of which calls the next one twice."""
    call = "    tt.call @f{}(%x) : (!tt.ptr<i32>) -> ()\n"
    functions = (
        f"  tt.func private @f{n}(%x: !tt.ptr<i32>) {{\n{2 * call.format(n + 1)}"
        "    tt.return\n  }\n"
        for n in range(depth)
    )
    last = f"  tt.func private @f{depth}(%x: !tt.ptr<i32>) {{\n{STORE}    tt.return\n  }}\n"
    return module(call.format(0), more="".join(functions) + last)


LOCATED = '#l0 = loc("/kernel/user.py":1:1)'
BOMBS = {
    "nested attributes": module(attributes="tt.a = " + "[" * 30_000 + "]" * 30_000),
    "nested modules": "module {" * 20_000 + "}" * 20_000,
    "nested regions": module(
        "%t = arith.constant true\n" + "scf.if %t {\n" * 20_000 + STORE + "}\n" * 20_000
    ),
    "nested locations": module(
        "%a = arith.constant 1 : i32 loc(" + '"a"(' * 60_000 + "unknown" + ")" * 60_000 + ")"
    ),
    "types of types": doubling(60, lambda n: f"!a{n} = tuple<!a{n - 1}, !a{n - 1}>", "!a0 = i32")
    + module(parameters="%x: !tt.ptr<i32>, %y: !a59"),
    "locations of locations": doubling(
        60, lambda n: f"#l{n} = loc(callsite(#l{n - 1} at #l{n - 1}))", LOCATED
    )
    + module(STORE.replace("ptr<i32>\n", "ptr<i32> loc(#l59)\n")),
    "a location in itself": "#a = loc(callsite(#b at #b))\n#b = loc(callsite(#a at #a))\n"
    + module(STORE.replace("ptr<i32>\n", "ptr<i32> loc(#a)\n")),
    "calls of calls": calls(40),
    "a function in itself": module(
        "    tt.call @f(%x) : (!tt.ptr<i32>) -> ()\n",
        more="  tt.func private @f(%x: !tt.ptr<i32>) {\n"
        "    tt.call @f(%x) : (!tt.ptr<i32>) -> ()\n    tt.return\n  }\n",
    ),
    "a million stages": loop("tt.num_stages = 1000000 : i32"),
    "2^31 - 1 stages": loop("tt.num_stages = 2147483647 : i32"),
    "an integer of 2^24 bits": module(
        "%t = arith.constant 1 : i16777215\n%u = arith.muli %t, %t : i16777215\n" + STORE
    ),
    "a global of 2 GiB": module(
        more="  llvm.mlir.global external @g(dense<1> : vector<268435456xi64>) "
        "{addr_space = 1 : i32} : !llvm.array<268435456 x i64>\n"
    ),
    "an extent of 5,000 digits": module(f"%t = arith.constant dense<1> : tensor<{'9' * 5000}xi32>"),
    "a hint beyond 64 bits": module(
        parameters=f"%x: !tt.ptr<i32> {{tt.divisibility = {2**126} : i128}}"
    ),
}
ENDS = {
    "succeeded", "syntax_error", "compile_error", "compile_timeout", "lowering_failed",
    "assembler_failed", "compiler_crashed", "out_of_resources", "memory_exceeded",
}  # fmt: skip


def ttir(text: str, target: str = "cuda:90", **changes: Any) -> dict[str, Any]:
    return {"ir": {"language": "ttir", "text": text}, "target": target} | changes


def ending(post: Post, body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the slug of a failure, else the state; and the record. The next job must succeed."""
    record = post(body).json()
    after = post(bodies.vector_add(json.dumps(body)[:200], stop_after="ttir")).json()
    assert after["state"] == "succeeded", after
    return (record.get("problem") or {}).get("slug") or record["state"], record


@pytest.mark.parametrize(
    "name",
    slow_except({"nested attributes", "types of types", "an extent of 5,000 digits"}, BOMBS),
)
def test_a_bomb_ends_its_own_job_by_name(post: Post, name: str) -> None:
    slug, record = ending(post, ttir(BOMBS[name], timeout_s=3))

    assert slug in ENDS, record["problem"]


def test_an_extent_of_thousands_of_digits_is_too_large(post: Post) -> None:
    slug, record = ending(post, ttir(BOMBS["an extent of 5,000 digits"]))

    assert slug == "out_of_resources"
    assert "the limit is 1,048,576 elements" in record["problem"]["detail"]


DIRECTIVES = {
    "include": '.include \\"{}\\"',
    "incbin": '.incbin \\"{}\\"',
    "a macro": '.macro m\\0A.include \\"{}\\"\\0A.endm\\0Am',
    "a file of lines": '.file 7 \\"{}\\"',
}
ASSEMBLIES: dict[str, Callable[[str], str]] = {
    "of a tensor": assembly,
    "of LLVM": lambda text: module(
        f'    llvm.inline_asm has_side_effects "{text}", "" : () -> ()\n' + STORE
    ),
    "of the module": lambda text: module(attributes=f'llvm.module_asm = ["{text}"]'),
}


@pytest.mark.parametrize("target", ["cuda:90", "hip:gfx942"])
@pytest.mark.parametrize("directive", DIRECTIVES)
@pytest.mark.parametrize("where", slow_except({"of a tensor"}, ASSEMBLIES))
def test_no_assembly_reads_a_file(
    post: Post, tmp_path: Path, target: str, directive: str, where: str
) -> None:
    canary = tmp_path / "canary.s"
    canary.write_text(f".globl {CANARY}\n// root:x:0:0\n")
    text = ASSEMBLIES[where](DIRECTIVES[directive].format(canary))

    slug, record = ending(post, ttir(text, target, include=["llir"]))

    # PTX may name a file of lines, which nothing opens
    assert slug == "assembler_failed" or (slug, directive) == ("succeeded", "a file of lines")
    assert CANARY not in json.dumps(record)


@pytest.mark.parametrize("target", ["cuda:90", "hip:gfx942"])
def test_the_library_of_an_extern_function_is_not_read(
    post: Post, tmp_path: Path, target: str
) -> None:
    canary = tmp_path / "library.bc"
    canary.write_text(CANARY)
    text = module(
        '    %f = arith.constant 1.0 : f32\n    %v = tt.extern_elementwise %f {libname = "a", '
        f'libpath = "{canary}", pure = true, symbol = "own_function"}} : (f32) -> f32\n'
        "    %w = arith.fptosi %v : f32 to i32\n    tt.store %x, %w : !tt.ptr<i32>\n"
    )

    _, record = ending(post, ttir(text, target, include=["llir"]))

    assert CANARY not in json.dumps(record)
    assert "own_function" in record["included"]["llir"]


PLACES = ("\\1B[31mred\\07", "/etc/passwd", "/proc/self/environ", "../../etc/passwd", "\\00\\0A")


@pytest.mark.parametrize("place", PLACES)
def test_a_location_is_text_and_names_no_file_to_read(post: Post, place: str) -> None:
    located = f'loc("{place}":1:1)'
    text = assembly("bogus $0").replace("i32 -> i32", f"i32 -> i32 {located}")

    slug, record = ending(post, ttir(text, "hip:gfx942"))

    assert slug == "assembler_failed"
    assert all(item["file"] in (None, "user.ttir") for item in record["diagnostics"])
    assert "root:" not in json.dumps(record)
    assert "\x1b" not in json.dumps(record)


def test_a_failure_of_large_ir_is_named(post: Post) -> None:
    long = "a" * 900_000
    text = assembly("bogus $0").replace("i32 -> i32", f'i32 -> i32 loc("{long}":1:1)')
    text = text.replace("1 : i32\n", f'1 : i32 loc("{long}":3:1)\n')
    text = text.replace("tt.ptr<i32>\n", f'tt.ptr<i32> loc("{long}":2:1)\n')

    slug, _ = ending(post, ttir(text, "hip:gfx942"))

    assert slug == "assembler_failed"


LOWERED = {
    "ttg.num-warps": "4",
    "ttg.num-ctas": "1",
    "ttg.threads-per-warp": "64",
}


def ttgir(numbers: dict[str, str], more: str = "") -> dict[str, Any]:
    said = ", ".join(f'"{name}" = {value} : i32' for name, value in numbers.items())
    text = module(attributes=f'{said}, ttg.target = "hip:gfx942"{more}')
    return {"ir": {"language": "ttgir", "text": text}, "target": "hip:gfx942"}


@pytest.mark.parametrize("value", ["0", "-1", "3", "2147483647"])
def test_warps_that_triton_refuses_are_the_mistake_of_the_module(post: Post, value: str) -> None:
    slug, record = ending(post, ttgir(LOWERED | {"ttg.num-warps": value}))

    assert slug == "compile_error"
    assert "num_warps must be a power of 2" in record["problem"]["detail"]


@pytest.mark.parametrize("value", ["0", "-4", "2147483647"])
def test_absurd_totals_of_warps_are_named_failures_or_harmless(post: Post, value: str) -> None:
    slug, record = ending(post, ttgir(LOWERED, f', "ttg.total-num-warps" = {value} : i32'))

    assert slug in ENDS, record["problem"]


def test_files_at_their_limit_are_compiled_whatever_they_contain(post: Post) -> None:
    files = {f"f{number}.py": "\n" * 1_000_000 for number in range(4)}

    slug, record = ending(post, bodies.vector_add("files", files=files))

    assert slug == "succeeded", record["problem"]
