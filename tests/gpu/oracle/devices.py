"""What a case is run on here: a function from a case and its folder to the buffers afterwards."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from compiler.messages.orders import NumpyOrder
from compiler.target import Target
from tests.gpu.oracle import interpreters
from tests.gpu.oracle.watched import plain

Buffers = dict[str, np.ndarray]


def artifact(case: dict[str, Any], folder: Path) -> Buffers:
    """Run the artifact `numpy`, made anew of the stage `source`."""
    from compiler.numpy_module.task import numpy

    source = json.loads((folder / "request.json").read_text())["source"]
    parameters = list(case["guess"]["signature"])
    order = NumpyOrder(
        stage="source", target=Target("cuda", 90, 32), files={"user.py": source},
        parameters=parameters,
    )  # fmt: skip
    texts: list[bytes] = []
    numpy(order, (folder / "source.ttir").read_bytes(), lambda _, body: texts.append(body))
    after = plain(texts[0].decode(), case["kernel"], case)
    return {one["name"]: memory for one, memory in zip(case["allocations"], after, strict=True)}


DEVICES: Mapping[str, Callable[[dict[str, Any], Path], Buffers]] = {
    "artifact": artifact, "triton": interpreters.as_it_is, "interpreter": interpreters.prepared,
}  # fmt: skip
