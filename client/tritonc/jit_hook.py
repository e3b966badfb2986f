"""A hook for Triton's JIT that fetches compilations from tritond.

It adds entries to Triton's cache under the key that Triton looks up next, and changes nothing
else: Triton compiles everything that cannot be fetched. This package does not need Triton; the
hook imports it in a process that has it.
"""

import base64
import hashlib
import json
import logging
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Self

from tritonc._sync.client import Client
from tritonc.answer_tar import tar_files
from tritonc.jit.jit_source import package_of_function, text_of
from tritonc.service_errors import ServerUnavailable, TritoncError, UnexpectedAnswer

LOG = logging.getLogger("tritonc")
EXPORT = "triton-cache"
AWAY_S = 30.0  # time without requests after a failure, so that the program starts quickly


class JitHook:
    """Compiles once, in the service; every process then fetches the result at its start.

    `install` it before the first launch. `wait_s` bounds the wait for each kernel. After it, and if
    the service fails or has another Triton, Triton compiles. `outcomes` counts kernels that are
    `known` to Triton's cache, `fetched`, or left to Triton (`compile`), which is logged.
    """

    def __init__(self, client: Client, *, wait_s: float = 60) -> None:
        self.outcomes: Counter[str] = Counter()
        self._client = client
        self._wait_s = wait_s
        self._before: Any = None
        self._away_until = 0.0

    def install(self) -> Self:
        """Make Triton call this hook before it compiles, after an already installed hook."""
        from triton import knobs

        self._before = knobs.runtime.jit_cache_hook
        knobs.runtime.jit_cache_hook = self
        return self

    def __call__(self, *, fn: Any, compile: Mapping[str, Any], **others: Any) -> bool:  # noqa: A002
        """Fetch the kernel that Triton is about to compile; return False to let Triton continue."""
        if self._before and self._before(fn=fn, compile=compile, **others):
            return True
        self.outcomes[self._outcome(fn.jit_function, compile)] += 1
        return False

    def _outcome(self, function: Any, compiling: Mapping[str, Any]) -> str:
        name = function.__name__
        if time.monotonic() < self._away_until:
            return "compile"
        try:
            return self._fetch(function, compiling)
        except (ServerUnavailable, UnexpectedAnswer) as error:
            self._away_until = time.monotonic() + AWAY_S
            message = "%s, and others for %g s, are compiled locally; tritond is unavailable: %s"
            LOG.warning(message, name, AWAY_S, error)
        except (TritoncError, OSError) as error:
            LOG.warning("%s is compiled locally, since tritond failed: %s", name, error)
        except Exception:
            # a Triton version that this hook does not know must still be able to compile
            LOG.exception("%s is compiled locally, since this hook failed", name)
        return "compile"

    def _fetch(self, function: Any, compiling: Mapping[str, Any]) -> str:
        from triton import __version__

        data = json.loads(compiling["specialization_data"])
        target = _target(data)
        digest = _cache_key(function, compiling, data, target)
        cache = _cache_manager(digest)
        metadata = f"{function.__name__[:150]}.json"
        if cache.get_group(metadata):
            return "known"
        made = self._client.compile(
            text_of(function),
            kernel=function.__name__,
            target=f"{target.backend}:{target.arch}",
            wait_s=self._wait_s,
            triton=__version__.partition("+")[0],
            specialization_data=data,
            package=package_of_function(function),
        )
        entry = _unpacked(self._client.export(made.key, EXPORT, wait_s=self._wait_s))
        folder = _folder(digest)
        if folder not in entry:
            message = "%s is compiled locally: tritond's result is for another build of Triton"
            LOG.warning(message, function.__name__)
            return "compile"
        cache.put_group(metadata, {n: cache.put(data, n) for n, data in entry[folder].items()})
        return "fetched"


def _target(data: Mapping[str, Any]) -> Any:
    """Return Triton's target; before 3.7 the hook does not receive it."""
    from triton.backends.compiler import GPUTarget
    from triton.runtime.driver import driver

    target = data.get("target")
    return GPUTarget(**target) if target else driver.active.get_current_target()


def _cache_key(
    function: Any, compiling: Mapping[str, Any], data: Mapping[str, Any], target: Any
) -> str:
    """Return the hexadecimal hash that Triton will look up."""
    from triton._C.libtriton import get_cache_invalidating_env_vars
    from triton.compiler import make_backend
    from triton.runtime.cache import get_cache_key

    source = function.ASTSource(
        function, compiling["signature"], compiling["constants"], compiling["configs"][0]
    )
    backend = make_backend(target)
    options = backend.parse_options({n: _tuples(o) for n, o in data["options"].items()})
    key = get_cache_key(source, backend, options, env_vars=get_cache_invalidating_env_vars())
    return hashlib.sha256(key.encode()).hexdigest()


def _cache_manager(digest: str) -> Any:
    from triton.runtime.cache import get_cache_manager

    return get_cache_manager(digest)


def _folder(digest: str) -> str:
    """Return Triton's folder name for a cache entry."""
    return base64.b32encode(bytes.fromhex(digest)).decode().rstrip("=")


def _tuples(value: Any) -> Any:
    """Return the value with JSON's lists turned back into tuples."""
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def _unpacked(archive: bytes) -> dict[str, dict[str, bytes]]:
    """Return the files of a cache entry by folder. Raises UnexpectedAnswer."""
    entries: dict[str, dict[str, bytes]] = {}
    for name, data in tar_files(archive).items():
        path = PurePosixPath(name)
        if len(path.parts) == 2 and path.name != "..":
            entries.setdefault(path.parts[0], {})[path.name] = data
    return entries
