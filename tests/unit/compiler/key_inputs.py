"""Values for every input of every key; all give different keys, and the first is the default."""

from collections.abc import Callable
from typing import Any

from compiler.key import (
    back_key,
    comparison_key,
    compile_key,
    derivation_key,
    front_key,
    inspection_key,
    kernel_source_key,
    posted_ir_key,
    reading_key,
)

TEXT = ["def k(x): ...", "def k(x): ... ", "def k(x): ...\r\n", "", "\ud800", "\ud801"]
NAME = ["add_kernel", "mul_kernel", "", None]
FILES = [{"a.py": "N = 1", "b.py": ""}, {"a.py": "N = 2", "b.py": ""}, {"c.py": "N = 1"}, {}]
NAMESPACE = ["", "team-a", "team-b"]
TOOLCHAIN = ["0123456789abcdef", "fedcba9876543210"]
OPTIONS = [
    {"num_warps": 4, "maxnreg": None},
    {"num_warps": 8, "maxnreg": None},
    {"num_warps": 4, "maxnreg": 64},
    {"num_warps": 4},
    {"num_warps": 4.0, "maxnreg": None},
    {"num_warps": True, "maxnreg": None},
    {},
]
TARGET = [
    {"backend": "cuda", "arch": 90, "warp_size": 32},
    {"backend": "cuda", "arch": 80, "warp_size": 32},
    {"backend": "cuda", "arch": "90", "warp_size": 32},
    {"backend": "hip", "arch": "gfx942", "warp_size": 64},
    {"backend": "hip", "arch": "gfx942", "warp_size": 32},
]
MODULE = [None, "user", "pkg.sub.mod", "pkg.sub.mod.__init__"]
ABSENT = [[], ["vllm"], ["vllm", "xformers"], ["vllm.xformers"]]
SIGNATURE = [{"x": "*fp32", "n": "i32"}, {"x": "*fp32", "n": "i64"}, {"x": ["*fp32"]}, {}]
CONSTEXPRS = [
    {"A": {"int": "1"}, "B": True},
    {"A": {"int": "2"}, "B": True},
    {"A": {"float": "0x1.0p+0"}, "B": True},
    {"A": "1", "B": True},
    {"A": {"int": "1"}},
    {"A": {"int": "1"}, "B": 1},
    {},
]
HINTS = [{"x": ["divisible_by_16"]}, {"n": ["divisible_by_16"]}, {"x": []}, {}]
LANGUAGE = ["ttir", "glir", "ttgir"]
LOCATIONS = [
    {"table": ["loc(1)"], "blocks": [[0]]},
    {"table": ["loc(2)"], "blocks": [[0]]},
    {"table": ["loc(1)"], "blocks": [[0], [0]]},
    {"table": [], "blocks": []},
]
STOP = ["ttir", "ptx", "cubin"]
IR = [b"module {}", b"module {} ", b"", b"\xff"]
INPUTS: dict[Callable[..., str], dict[str, list[Any]]] = {
    compile_key: {
        "namespace": NAMESPACE,
        "source": [*TEXT, None],
        "module": MODULE,
        "ir": [
            None,
            {"language": "ttir", "text": "module {}", "canonicalize": True},
            {"language": "ttgir", "text": "module {}", "canonicalize": True},
            {"language": "ttir", "text": "module {} ", "canonicalize": True},
            {"language": "ttir", "text": "module {}", "canonicalize": False},
        ],
        "files": FILES,
        "absent": ABSENT,
        "kernel": NAME,
        "specialization_json": [{"named": CONSTEXPRS[0], "positional": []}, *CONSTEXPRS],
        "options": OPTIONS,
        "target_name": ["cuda:90", "cuda:80", "hip:gfx942"],
        "stop_after": STOP,
        "toolchain_id": TOOLCHAIN,
    },
    front_key: {
        "text": TEXT,
        "module": MODULE,
        "kernel": NAME,
        "files": FILES,
        "absent": ABSENT,
        "signature": SIGNATURE,
        "constexprs": CONSTEXPRS,
        "hints": HINTS,
        "options": OPTIONS,
        "hidden": [None, [], ["num_warps"], ["num_stages", "num_warps"]],
        "target": TARGET,
        "toolchain_id": TOOLCHAIN,
        "namespace": NAMESPACE,
    },
    back_key: {
        "ir": IR,
        "language": LANGUAGE,
        "locations": LOCATIONS,
        "options": OPTIONS,
        "target": TARGET,
        "toolchain_id": TOOLCHAIN,
        "namespace": NAMESPACE,
    },
    posted_ir_key: {
        "text": IR,
        "language": LANGUAGE,
        "stage": STOP,
        "canonicalize": [True, False],
        "options": OPTIONS,
        "target": TARGET,
        "toolchain_id": TOOLCHAIN,
        "namespace": NAMESPACE,
    },
    inspection_key: {
        "namespace": NAMESPACE,
        "source": TEXT,
        "module": MODULE,
        "files": FILES,
        "absent": ABSENT,
        "kernel": NAME,
        "target_name": [None, "cuda:90", "cuda:80", "hip:gfx942"],
        "toolchain_id": TOOLCHAIN,
    },
    reading_key: {
        "namespace": NAMESPACE,
        "source": [*TEXT, None],
        "module": MODULE,
        "files": FILES,
        "kernel": NAME,
        "functions": [[], ["activation"], ["activation", "other"]],
        "toolchain_id": TOOLCHAIN,
    },
    kernel_source_key: {
        "namespace": NAMESPACE,
        "source": [*TEXT, None],
        "module": MODULE,
        "files": FILES,
        "absent": ABSENT,
        "kernel": NAME,
        "functions": [[], ["activation"], ["activation", "other"]],
        "target_name": ["cuda:90", "cuda:80", "hip:gfx942"],
        "toolchain_id": TOOLCHAIN,
    },
    derivation_key: {
        "compilation_key": ["ab" * 32, "cd" * 32],
        "what": ["sass", "lines", "exports/c"],
        "artifact_digests": [{"cubin": "sha256:1", "ptx": "sha256:2"}, {"cubin": "sha256:1"}, {}],
        "derivation_version": [1, 2],
    },
    comparison_key: {
        "derivations": [["ab" * 32, "cd" * 32], ["cd" * 32, "ab" * 32], ["ab" * 32, "ab" * 32]],
        "disassembly_digests": [["sha256:1", "sha256:2"], ["sha256:1", None], [None, None]],
        "stages": [["ttir", "ptx"], ["ttir"], ["ptx", "ttir"]],
    },
}
