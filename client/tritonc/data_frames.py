"""Tables as pandas DataFrames. pandas is not a dependency: it is imported on demand."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any


def data_frame(records: Sequence[Mapping[str, Any]]) -> Any:
    """Return a DataFrame with a row for each record. Raises ModuleNotFoundError without pandas."""
    try:
        pandas = import_module("pandas")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "to_pandas() needs pandas, which tritonc does not install; run: pip install pandas"
        ) from error
    return pandas.DataFrame(list(records))
