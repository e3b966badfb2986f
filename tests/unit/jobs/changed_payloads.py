"""Payloads of queued jobs with a replaced value, as a hostile store might send."""

from collections.abc import Iterator
from typing import Any

import orjson
from hypothesis import strategies as st

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(2**63), max_value=2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["fp32", "values", "tensor", "int", "buffer", "x_ptr", "user.py"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["kind", "int", "float", "init", "items"]), inner)
    ),
    max_leaves=6,
)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each container in `value` with each of its keys or indices."""
    keys = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key in keys:
        yield value, key
        yield from places(value[key])


@st.composite
def changed(draw: st.DrawFn, payload: bytes) -> bytes:
    """Return `payload` with one to three values replaced or removed."""
    written = orjson.loads(payload)
    for _ in range(draw(st.integers(1, 3))):
        container, key = draw(st.sampled_from(list(places(written))))
        if draw(st.booleans()) and isinstance(container, dict):
            del container[key]
        else:
            container[key] = draw(VALUES)
    return orjson.dumps(written)
