"""Values that mean something: sources, contracts, spaces and cases at their limits.

A schema knows lengths only. What these texts say is read further, and there products hide.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

HEADER = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
ADD = f"""{HEADER}def kernel(x_ptr, o_ptr, n, B: tl.constexpr):
    offsets = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(o_ptr + offsets, x, mask=offsets < n)
"""
SIGNATURE = {"x_ptr": "*fp32:16", "o_ptr": "*fp32:16", "n": "i32"}
ADD_CONTRACT = "x_ptr: n\no_ptr: n\ngrid: cdiv(n, B)\n"
MAX_SOURCE = 1_000_000
MAX_FILES, MAX_FILE_BYTES = 64, 60_000
MAX_PARAMETERS = 256
PRIMES = [p for p in range(1009, 12_000) if all(p % q for q in range(2, math.isqrt(p) + 1))]


def padded(text: str, size_bytes: int) -> str:
    """Return a source with comments up to a size."""
    return text + ("#" + "x" * 98 + "\n") * (max(0, size_bytes - len(text)) // 100)


def storing(count: int, *, masked: bool = False) -> str:
    """Return a kernel with `count` stores; without masks a proof refutes each."""
    mask = ", mask=offsets < n" if masked else ""
    stores = "".join(
        f"    tl.store(o_ptr + offsets + {index}, x{mask})\n" for index in range(count)
    )
    return f"""{HEADER}def kernel(x_ptr, o_ptr, n, B: tl.constexpr):
    offsets = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
{stores}"""


def short_lines(count: int, distinct: int) -> str:
    """Return a kernel below which few lines repeat: what compares lines by pairs is slow."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(pair) for pair in itertools.product(letters, repeat=2)][:distinct]
    return (
        storing(1) + '"""\n' + "".join(words[i % distinct] + "\n" for i in range(count)) + '"""\n'
    )


def buffer(elements: int, **more: Any) -> dict[str, Any]:
    """Return a buffer of a launch; an output unless it has contents."""
    return {"shape": [elements], "dtype": "fp32", **(more or {"output": True})}


def add_arguments(elements: int = 128) -> dict[str, Any]:
    """Return the arguments of `ADD`."""
    return {
        "x_ptr": buffer(elements, init={"kind": "zeros"}),
        "o_ptr": buffer(elements),
        "n": elements,
    }


def large_scalars(case: int, count: int = 23) -> dict[str, int]:
    """Return scalars of a case that no small formula relates."""
    return {
        f"s{index}": 10**15 + 10**13 * index + 7919 * case + PRIMES[(7 * index + 311 * case) % 999]
        for index in range(count)
    }


def _sources(budget_bytes: int) -> Mapping[str, Any]:
    size_bytes = min(budget_bytes, MAX_SOURCE)
    functions = "\n".join(
        f"@triton.jit\ndef f{n}(x):\n    return x + {n}\n" for n in range(size_bytes // 60)
    )
    return {
        "comments": padded(ADD, size_bytes),
        "functions": ADD + functions,
        "short lines": short_lines(size_bytes // 3 - 300, 105),
        "one line": ADD + "x = 1;" * (size_bytes // 7),
        "brackets": ADD + "x = " + "(" * (size_bytes // 2 - 400) + ")" * (size_bytes // 2 - 400),
        "stores": storing(min(400, size_bytes // 50)),
        "imports": ADD + "".join(f"import m{n}\n" for n in range(size_bytes // 14)),
    }


def _files(budget_bytes: int) -> Mapping[str, Any]:
    each_bytes = min(budget_bytes // MAX_FILES, MAX_FILE_BYTES)
    return {
        "many": {f"m{n}.py": "#" * each_bytes for n in range(MAX_FILES)},
        "deep": {"a/" * 300 + f"m{n}.py": f"import m{n + 1}\n" for n in range(MAX_FILES)},
        "importing": {
            f"m{n}.py": "".join(f"import m{m}\n" for m in range(MAX_FILES))
            for n in range(MAX_FILES)
        },
    }


def _constexprs(budget_bytes: int) -> Mapping[str, Any]:
    count = min(budget_bytes // 12, MAX_PARAMETERS - 4)
    return {
        "many": {f"C{n}": 3 + 2 * n for n in range(count)},
        "tuples": {f"C{n}": [n] * 200 for n in range(min(count, 60))},
        "large": {f"C{n}": {"int": str(10**18 + n)} for n in range(count)},
    }


def _signatures(budget_bytes: int) -> Mapping[str, Any]:
    names = [f"p{n}" for n in range(min(budget_bytes // 16, MAX_PARAMETERS))]
    return {
        "many": dict.fromkeys(names, "*fp32:16"),
        "text": ", ".join(["*fp32:16"] * len(names)),
        "tuples": {"t": [["*fp32"] * 16] * 16},
    }


def _grids(_: int) -> Mapping[str, Any]:
    return {
        "nested": ["cdiv(" * 36 + "n" + ", 2)" * 36] * 3,
        "powers": ["n * " * 60 + "n"] * 3,
        "sums": ["+".join(["n"] * 100)] * 3,
    }


def _contracts(_: int) -> Mapping[str, Any]:
    most = 19_900
    lines = "".join(f"n <= m{i} * {i}\n" for i in range(most))[: most - 200]
    sizes = "sizes " + ", ".join(f"s{i}" for i in range(900)) + "\n"
    return {
        "many lines": "x_ptr: n\no_ptr: n\n" + lines[: lines.rindex("\n") + 1],
        "many sizes": sizes + "x_ptr: " + " * ".join(f"s{i}" for i in range(900)) + "\n",
        "long sum": ADD_CONTRACT + "n <= " + " + ".join(["n * n"] * 2400),
        "powers": ADD_CONTRACT + "n <= " + " * ".join(["(n + B)"] * 2000),
        "brackets": ADD_CONTRACT + "n <= " + "(" * 9000 + "n" + ")" * 9000,
        "quotients": ADD_CONTRACT + "n <= " + "cdiv(" * 1800 + "n" + ", 3)" * 1800,
    }


def _launch_cases(budget_bytes: int) -> Mapping[str, Any]:
    values = min(2000, budget_bytes // 400)
    return {
        "many": [{"name": f"c{n}", "arguments": add_arguments(128 + n)} for n in range(100)],
        "values": [{"arguments": {"x_ptr": {"init": {"kind": "values", "values": [0.5] * values}}}}]
        * 100,
        "references": [{"reference": {"source": "#" * (budget_bytes // 100)}}] * 100,
        "long names": [{"name": "n" * 256, "arguments": {}}] * 100,
        "grids": [{"grid": ["cdiv(" * 36 + "n" + ", 2)" * 36] * 3}] * 100,
    }


def _proof_cases(_: int) -> Mapping[str, Any]:
    return {
        "scalars": [
            {
                "arguments": large_scalars(n),
                "grid": [1_000_003 + 17 * n, 50_021 + 13 * n, 60_013 + 29 * n],
            }
            for n in range(8)
        ],
        "buffers": [
            {
                "arguments": {
                    f"x{i}": {"shape": [PRIMES[(i * 5 + n * 7 + d) % 999] for d in range(8)]}
                    for i in range(250)
                },
                "grid": [PRIMES[n], PRIMES[n + 40], PRIMES[n + 90]],
            }
            for n in range(8)
        ],
        "grids": [
            {"arguments": large_scalars(n, 200), "grid": ["cdiv(" * 30 + "s1" + ", 3)" * 30]}
            for n in range(8)
        ],
    }


def _arguments(budget_bytes: int) -> Mapping[str, Any]:
    deep: Any = 1
    for _ in range(60):
        deep = {"tuple": [deep]}
    return {
        "buffers": {f"p{n}": buffer(16) for n in range(MAX_PARAMETERS)},
        "values": {
            "x_ptr": {
                "shape": [65_000],
                "dtype": "fp32",
                "init": {"kind": "values", "values": [0.5] * min(65_000, budget_bytes // 5)},
            }
        },
        "views": {"p0": buffer(4096)}
        | {f"p{n}": {"view": {"of": f"p{n - 1}", "shape": [8]}} for n in range(1, MAX_PARAMETERS)},
        "tuples": {f"p{n}": {"tuple": [1] * 200} for n in range(40)},
        "deep tuples": {f"p{n}": deep for n in range(100)},
        "large": {f"p{n}": buffer(2**31) for n in range(MAX_PARAMETERS)},
    }


def _conditions(_: int) -> Mapping[str, Any]:
    return {
        "sums": ["+".join(["B"] * 2000) + " > 1"] * 16,
        "products": [" * ".join(["B"] * 1000) + " > 1"] * 16,
        "and": [" and ".join(["B + B > 0"] * 280)] * 16,
        "brackets": ["(" * 1900 + "B" + ")" * 1900 + " > 1"] * 16,
        "powers": ["B ** 9 ** 9 ** 9 > 1"] * 16,
    }


def _spaces(budget_bytes: int) -> Mapping[str, Any]:
    long = padded(ADD, budget_bytes // 250)
    return {
        "two axes": {"product": {"constexprs.B": _powers(), "constexprs.C": list(range(900))}},
        "many axes": {"product": {f"constexprs.C{n}": [1, 2] for n in range(13)}},
        "one value each": {"product": {f"constexprs.C{n}": [1] for n in range(250)}},
        "listed": [{"constexprs": {"B": 16, "C": n}} for n in range(9_900)],
        "sources": {"product": {"source": [f"{long}\n# {n}" for n in range(200)]}},
        "sources and numbers": {
            "product": {
                "source": [f"{long}\n# {n}" for n in range(100)],
                "constexprs.C": list(range(100)),
            }
        },
        "tuples": {"product": {"constexprs.C": [[n] * 200 for n in range(900)]}},
        "too many": {"product": {f"constexprs.C{n}": list(range(900)) for n in range(30)}},
    }


def _powers() -> list[int]:
    return [16 << n for n in range(11)]


def _texts_of_ir(budget_bytes: int) -> Mapping[str, Any]:
    size_bytes = min(budget_bytes, 4_000_000)
    lines = "".join(f"    %{n} = arith.constant {n} : i32\n" for n in range(size_bytes // 40))
    module = "module {{\n  tt.func public @kernel(%arg0: i32) {{\n{}    tt.return\n  }}\n}}\n"
    return {
        "lines": {"language": "ttir", "text": module.format(lines)},
        "brackets": {"language": "ttir", "text": "{" * size_bytes},
        "locations": {
            "language": "ttir",
            "text": module.format("")
            + "".join(f'#loc{n} = loc("a":{n}:1)\n' for n in range(size_bytes // 26)),
        },
    }


def _requests(budget_bytes: int) -> Mapping[str, Any]:
    small = {"source": ADD, "signature": SIGNATURE, "constexprs": {"B": 16}, "stop_after": "ttir"}
    size_bytes = min(budget_bytes // 1000, 14_000)
    return {
        "one request": [small | {"target": "cuda:90"}] * 1000,
        "distinct requests": [
            small | {"target": "cuda:90", "constexprs": {"B": 16, "C": n}} for n in range(1000)
        ],
        "unknown targets": [small | {"target": "cuda:1"}] * 1000,
        "numbers": list(range(1000)),
        "long sources": [
            small | {"source": padded(ADD, size_bytes) + f"# {n}", "target": "none:1"}
            for n in range(1000)
        ],
        "many constexprs": [
            small | {"constexprs": {f"C{n}": n for n in range(60)}, "target": "none:1"}
        ]
        * 1000,
    }


Values = Callable[[int], Mapping[str, Any]]
FIELDS: Mapping[str, Values] = {
    "source": _sources,
    "files": _files,
    "constexprs": _constexprs,
    "signature": _signatures,
    "grid": _grids,
    "contract": _contracts,
    "LaunchRequest.cases": _launch_cases,
    "ProofRequest.cases": _proof_cases,
    "arguments": _arguments,
    "where": _conditions,
    "space": _spaces,
    "ir": _texts_of_ir,
    "requests": _requests,
}
"""By field, or by model and field. Each maps a number of bytes to values by name."""


def values(model: str, field: str, budget_bytes: int) -> Mapping[str, Any]:
    """Return the values of a field that mean something, by name."""
    known = FIELDS.get(f"{model}.{field}") or FIELDS.get(field)
    return known(budget_bytes) if known else {}


@cache
def labels(model: str, field: str) -> tuple[str, ...]:
    """Return the names of those values."""
    return tuple(values(model, field, 20_000))
