"""Calls ops on fake tensors, and raises the errors that the same op raises on real tensors.

A program may catch them: `try: x.view(6)`, `except RuntimeError: x.reshape(6)`.
"""

from typing import Any

_MIRRORED = "_check_with"
"""torch's function behind `torch._check_value` and others, which raise the same type as ATen."""
_INDEXING = "aten.index.Tensor"


def called_on_fakes(func: Any, args: Any, kwargs: Any) -> Any:
    """Return the result of an op on fake tensors. Raises what eager torch raises."""
    try:
        return func(*args, **kwargs)
    except (ValueError, AssertionError) as error:
        # Python code that replaces ATen's raises these where ATen raises a RuntimeError
        if _raising_function(error) == _MIRRORED:
            raise
        raise RuntimeError(str(error)) from error
    except RuntimeError as error:
        if str(func) != _INDEXING or type(error) is not RuntimeError:
            raise
        raise IndexError(str(error)) from error


def _raising_function(error: Exception) -> str:
    """Return the name of the function that raised an error."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return "" if step is None else step.tb_frame.f_code.co_name
