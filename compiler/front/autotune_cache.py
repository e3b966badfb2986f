"""The task that writes the file which `@triton.autotune(cache_results=True)` loads elsewhere.

Triton names the folder of that file by a hash over texts: of itself, of its back end for the
target, of the kernel, of the tuning key and of all configurations. This Triton makes these texts by
its own classes; no user Python runs here.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from triton.runtime.autotuner import Config

from compiler.back import triton_api
from compiler.diagnostic import Failure
from compiler.front.ast_source import decode
from compiler.messages.autotuning import AutotuneCacheOrder
from compiler.messages.wire import Send

LONGEST_NAME = 150
"""Length of the kernel's name in the file's name, as Triton truncates it."""


def autotune_cache(order: AutotuneCacheOrder, body: bytes, send: Send) -> None:
    """Send `{"folder", "file", "text"}`: the file, and the folder of Triton's cache it belongs in.

    Raises `Failure` (`not_derivable`) for a configuration that has another text elsewhere.
    """
    del body
    configs = [_config(item) for item in order.configs]
    tuning_key = (*(_value(item) for item in order.key), *order.dtypes)
    backend = triton_api.make_backend(triton_api.target_of(order.target))
    digest = _digest(order.source_hash, backend, tuning_key, configs)
    timings = [(vars(_config(item)), item["ms"]) for item in order.timings]
    written = {
        "folder": triton_api.cache_folder(digest),
        "file": f"{order.kernel[:LONGEST_NAME]}.autotune.json",
        "text": json.dumps({"key": tuning_key, "configs_timings": timings}, default=str),
    }
    send({"kind": "stage", "stage": "autotune_cache", "ms": 0.0}, json.dumps(written).encode())


def _digest(
    source_hash: str, backend: Any, tuning_key: tuple[Any, ...], configs: list[Config]
) -> str:
    """Return the hash that `Autotuner.check_disk_cache` makes, no variable being set."""
    texts = [
        triton_api.triton_key(),
        backend.hash(),
        source_hash,
        str(sorted({}.items())),
        str(tuning_key),
        *map(str, configs),
    ]
    return hashlib.sha256("-".join(texts).encode()).hexdigest()


def _config(item: Mapping[str, Any]) -> Config:
    values = {name: _value(value) for name, value in item["values"].items()}
    options = {name: _value(value) for name, value in item["options"].items()}
    return Config(values, **options)


def _value(tagged: Any) -> Any:
    def function(name: str) -> Any:
        message = (
            f"the configurations name the function {name}, whose text in Triton's key depends on "
            "the module that it is imported as"
        )
        raise Failure("not_derivable", "autotune_cache", message)

    return decode(tagged, function)
