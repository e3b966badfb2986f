"""Refusing twice as many out-of-bounds items takes twice the time."""

import gc
import json
import time
from collections.abc import Callable

import pytest

from compiler.rejection import RequestRejected
from tests.unit.compiler.request.request_outcome import MANY, outcome, varied
from tests.unit.compiler.vector_add import VECTOR_ADD

TOO_MANY: dict[str, Callable[[int], bytes]] = {
    "pointer to pointer to ...": lambda many: varied("signature", {"x": "*" * many + "fp32"}),
    "commas": lambda many: varied("signature", "i32," * many),
    "brackets": lambda many: varied("signature", ",<" * many),
    "digits": lambda many: varied("signature", "9" * many),
    "types": lambda many: varied("signature", {f"x{n}": "fp33" for n in range(many // 5)}),
    "hints": lambda many: varied("hints", {f"x{n}": ["fp33"] for n in range(many // 5)}),
    "hints of one": lambda many: varied("hints", {"x_ptr": ["?"] * many}),
    "constexprs": lambda many: varied("constexprs", {f"X{n}": n for n in range(many)}),
    "options": lambda many: varied("options", {f"num_warps{n}": n for n in range(many)}),
    "files": lambda many: varied("files", {f"a{n}.py": "" for n in range(many)}),
    "fields": lambda many: json.dumps(VECTOR_ADD | {f"f{n}": n for n in range(many)}).encode(),
    "includes": lambda many: varied("include", ["ptx"] * many),
    "items": lambda many: varied("constexprs", {"X": [0] * many}),
    "long name of an option": lambda many: varied("options", {"num_warps" * many: 1}),
    "long name of a field": lambda many: varied("source" * many, 1),
    "long path": lambda many: varied("files", {"a" * many: ""}),
    "long target": lambda many: varied("target", "cuda:" + "9" * many),
}
MAX_GROWTH = 3.3
"""Growth per doubling: 2 is linear, 4 quadratic."""
TOO_SHORT_TO_MEASURE_S = 0.01
"""Below it, caches and page faults dominate."""
TRIES = 3


def spent_s(body: bytes) -> float:
    def once() -> float:
        started = time.process_time()
        outcome(body)
        return time.process_time() - started

    gc.disable()  # garbage collection scans all live objects, which is not the request's fault
    spent_s = min(once(), once(), once())
    gc.enable()
    return spent_s


def growth(make: Callable[[int], bytes]) -> float:
    """Return the growth of the time for four times as much."""
    times = [max(spent_s(make(many)), TOO_SHORT_TO_MEASURE_S) for many in (MANY // 4, MANY)]
    return times[1] / times[0]


@pytest.mark.parametrize("make", TOO_MANY.values(), ids=TOO_MANY)
def test_twice_as_much_of_what_is_out_of_bounds_is_refused_in_twice_the_time(
    make: Callable[[int], bytes],
):
    assert isinstance(outcome(make(MANY)), RequestRejected)
    assert any(growth(make) < MAX_GROWTH**2 for _ in range(TRIES))
