"""`python -m tests.raw_fuzz [--requests 100000] [--seed N] [--only NUMBER]`: bytes to a service.

No answer may be a 5xx except 501 to an unknown method. The process must keep serving, its log must
hold no traceback, and its memory must not grow. A seed and a number reproduce a case.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

import httpx

from tests.integration.service.running import Deployment
from tests.raw_fuzz.cases import case
from tests.raw_fuzz.sending import send_all

WARM_UP = 5_000
MAY_GROW_BYTES = 32 << 20
SETTINGS = {"TRITOND_HEAD_TIMEOUT_S": "2", "TRITOND_BODY_TIMEOUT_S": "2"}


def fuzz(deployment: Deployment, seed: int, numbers: range) -> list[str]:
    """Return the errors, in lines."""
    assert deployment.service is not None
    port = int(deployment.url.rpartition(":")[2])
    warm = range(numbers.start, min(numbers.start + WARM_UP, numbers.stop))
    found, resident_bytes = [], [deployment.service.resident_bytes]
    for part in (warm, range(warm.stop, numbers.stop)):
        began_s = time.monotonic()
        answered = asyncio.run(send_all(port, (case(seed, number) for number in part)))
        resident_bytes.append(deployment.service.resident_bytes)
        print(
            f"{answered.connections} connections in {time.monotonic() - began_s:.0f} s; answers "
            f"{dict(sorted(answered.statuses.items()))}, {answered.silent} without one; "
            f"RSS {resident_bytes[-1] >> 20} MiB",
            flush=True,
        )
        found += [f"case {number}: {answer}" for number, answer in answered.errors.items()]
        if answered.refused:
            found.append(f"{answered.refused} connections were not taken")
        if not deployment.service.still_runs():
            return [*found, "the service has ended"]
    print("RSS in MiB: " + ", ".join(str(each >> 20) for each in resident_bytes))
    if resident_bytes[2] - resident_bytes[1] > MAY_GROW_BYTES:
        found.append(f"memory has grown from {resident_bytes[1]} to {resident_bytes[2]} bytes")
    if httpx.get(f"{deployment.url}/readyz").status_code != httpx.codes.OK:
        found.append("the service is not ready any more")
    if "Traceback" in deployment.said():
        found.append(f"the log has a traceback: {deployment.said()[-4000:]}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=time.time_ns() // 1_000_000_000)
    parser.add_argument("--only", type=int, help="one case, which is shown")
    arguments = parser.parse_args()
    numbers = range(arguments.requests)
    if arguments.only is not None:
        numbers = range(arguments.only, arguments.only + 1)
        print(*case(arguments.seed, arguments.only).pieces, sep="\n")
    print(f"seed {arguments.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        deployment = Deployment(Path(folder), **SETTINGS)
        try:
            deployment.start_store()
            deployment.start_service()
            deployment.start_worker()
            deployment.wait_for_workers()
            found = fuzz(deployment, arguments.seed, numbers)
        finally:
            deployment.stop()
    print("\n".join(found) or "nothing is wrong")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
