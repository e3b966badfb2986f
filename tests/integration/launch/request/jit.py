"""The specialization of Triton's own JIT, in a new process: the expected result of inference.

It reads {"source", "folder", "target", "launches": [{"kernel", "arguments"}]} from each line of
stdin. The hook that Triton calls before it compiles records every specialization, and stops Triton.
"""

import json
import os
import sys
import types
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.integration.compiler.direct import each_in_a_fork


class Driver:
    """The parts of a driver that a launch needs before it compiles."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def get_current_target(self) -> Any:
        return self._target

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0


class Tensor:
    """The parts of a tensor that a specialization reads."""

    def __init__(self, dtype: Any, address: int) -> None:
        self.dtype = dtype
        self._address = address

    def data_ptr(self) -> int:
        return self._address

    def ptr_range(self) -> int:
        return 64


def answer(request: dict[str, Any]) -> dict[str, Any]:
    import triton
    from triton.backends.compiler import GPUTarget

    from compiler.front.tasks import TASKS

    os.environ["TRITON_CACHE_DIR"] = request["folder"]
    triton.runtime.driver.set_active(Driver(GPUTarget(*request["target"])))
    path = Path(request["folder"]) / "kernels.py"
    path.write_text(request["source"])
    module = types.ModuleType("kernels")
    module.__file__ = str(path)
    sys.modules["kernels"] = module
    exec(compile(request["source"], str(path), "exec"), module.__dict__)
    seen: list[dict[str, Any]] = []
    triton.knobs.runtime.jit_cache_hook = lambda **hooked: seen.append(hooked["compile"]) or True
    answers = []
    for launch in request["launches"]:
        function = getattr(module, launch["kernel"])
        arguments = {name: value(item, module) for name, item in launch["arguments"].items()}
        seen.clear()
        function.warmup(**arguments, grid=(1,))
        answers.append(said(function, seen[0]))
    kernels = {launch["kernel"] for launch in request["launches"]}
    facts = {name: reported(name, request, TASKS) for name in kernels}
    plain: dict[str, Any] = json.loads(
        json.dumps({"answers": answers, "facts": facts}, default=asdict)
    )
    return plain


def reported(kernel: str, request: dict[str, Any], tasks: Any) -> list[dict[str, Any]]:
    """Return the facts of a launch: from the text, or from the function if the text is unclear."""
    target = dict(zip(("backend", "arch", "warp_size"), request["target"], strict=True))
    header: dict[str, Any] = {"kernel": kernel, "files": {}}
    reading = tasks["read"](header, request["source"].encode(), lambda *_: None)
    found = next(known for known in reading["facts"]["kernels"] if known["name"] == kernel)
    if not found["sure"]:
        found = tasks["parameters"](
            header | {"target": target}, request["source"].encode(), lambda *_: None
        )
    parameters: list[dict[str, Any]] = found["parameters"]
    return parameters


def value(item: Any, module: Any) -> Any:
    import triton.language as tl

    dtypes = {
        "i1": tl.int1, "i8": tl.int8, "i32": tl.int32, "i64": tl.int64, "u8": tl.uint8,
        "fp16": tl.float16, "bf16": tl.bfloat16, "fp32": tl.float32, "fp64": tl.float64,
        "fp8e5": tl.float8e5, "fp8e4nv": tl.float8e4nv,
    }  # fmt: skip
    if not isinstance(item, dict):
        return item
    [(kind, inner)] = item.items()
    if kind == "tensor":
        return Tensor(dtypes[inner["dtype"]], inner["address"])
    if kind == "tuple":
        return tuple(value(one, module) for one in inner)
    if kind == "dtype":
        return dtypes[inner]
    if kind == "function":
        return getattr(module, inner)
    from triton.tools.tensor_descriptor import TensorDescriptor

    return descriptor(TensorDescriptor, value(inner["base"], module), inner["block_shape"])


def descriptor(kind: Any, base: Tensor, block_shape: list[int]) -> Any:
    # Its constructor needs torch's dtypes; a specialization reads only base and block.
    made = kind.__new__(kind)
    made.base, made.block_shape = base, block_shape
    return made


def said(function: Any, compiled: dict[str, Any]) -> dict[str, Any]:
    from triton.compiler import ASTSource

    from compiler.front import ast_source

    names = [parameter.name for parameter in function.params]
    attrs = compiled["configs"][0]

    def path(key: tuple[int, ...]) -> str:
        return ".".join([names[key[0]], *map(str, key[1:])])

    source = ASTSource(function, compiled["signature"], compiled["constants"], attrs)
    return {
        "signature": compiled["signature"],
        "constants": {path(key): ast_source.encode(v) for key, v in compiled["constants"].items()},
        "attrs": {path(key): item for key, item in attrs.items() if item},
        "source_hash": source.hash(),
    }


if __name__ == "__main__":
    import triton.tools.tensor_descriptor

    import compiler.front.tasks

    assert triton.__version__
    assert compiler.front.tasks
    each_in_a_fork(answer)
