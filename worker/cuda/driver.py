"""CUDA's driver API with errors as exceptions. Imported in launchers only."""

from typing import Any

from cuda.bindings import driver as cu

_SUCCESS = cu.CUresult.CUDA_SUCCESS


class CudaError(Exception):
    """A driver call failed; `name` is CUDA's own, such as CUDA_ERROR_ILLEGAL_ADDRESS."""

    def __init__(self, name: str, words: str, doing: str) -> None:
        super().__init__(f"{doing}: {name}, {words}")
        self.name = name


def check(result: tuple[Any, ...], doing: str) -> Any:
    """Return what a call of cuda-bindings gave besides its status: nothing, a value or a tuple.

    Raises CudaError; `doing` says what was tried.
    """
    status, *values = result
    if status != _SUCCESS:
        raise CudaError(*_words(status), doing)
    if not values:
        return None
    return values[0] if len(values) == 1 else tuple(values)


def _words(status: Any) -> tuple[str, str]:
    _, name = cu.cuGetErrorName(status)
    _, text = cu.cuGetErrorString(status)
    return (name or b"CUDA_ERROR_UNKNOWN").decode(), (text or b"no text").decode()
