"""MLIR contexts with Triton's dialects; a zygote makes one for each backend before it forks.

Making one takes 2.5 ms of CPU time, most of them page faults in a new child. An unused
context holds only dialects, so results do not depend on the time of its creation. No context is
used twice, so no text can affect another.
"""

from typing import Any

from compiler.back import reproducers, triton_api

_prepared: dict[str, Any] = {}
"""An unused context by backend."""
_last: list[Any] = []
"""The last prepared one that was taken: to take it apart takes longer than to end the process."""


def prepare(backend: Any) -> None:
    """Make a context for the next task of this backend, if none waits; starts no thread."""
    name = backend.target.backend
    if name not in _prepared:
        _prepared[name] = _made(backend)


def new_context(backend: Any) -> Any:
    """Return a new MLIR context with Triton's and the backend's dialects."""
    prepared = _prepared.pop(backend.target.backend, None)
    if prepared is None:
        return _made(backend)
    _last[:] = [prepared]
    return prepared


def _made(backend: Any) -> Any:
    context = triton_api.ir.context()
    triton_api.ir.load_dialects(context)
    backend.load_dialects(context)
    reproducers.use_one_thread(context)
    return context
