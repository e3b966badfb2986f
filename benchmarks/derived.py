"""Measures the time of SASS and line maps that are requested for the first time, when idle.

Every kernel is new, so nothing is cached; it is compiled before the measurement. Starting nvdisasm
takes nearly all of the time, so that alone is measured, too.
"""

import argparse
import http.client
import importlib.util
import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Container
from pathlib import Path
from typing import Any

from deployment import Deployment, Server
from mix import Mix
from table import Row, show

BAR_MS = 500.0
IDLE_S = 0.5
_TRITON = importlib.util.find_spec("triton")
assert _TRITON is not None
assert _TRITON.origin is not None
NVDISASM = Path(_TRITON.origin).parent / "backends/nvidia/bin/nvdisasm"
PATHS = {"artifacts/sass": "SASS", "lines": "lines (SASS included)"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", type=int, default=8, help="vector adds for each of the two")
    parser.add_argument("--real", type=int, default=8, help="kernels of the mix for each")
    arguments = parser.parse_args()
    mix = Mix()
    small = [mix.small() for _ in range(arguments.small * len(PATHS))]
    real = mix.real()[: arguments.real * len(PATHS)]
    with Deployment() as deployment:
        service = deployment.serve()
        rows = [
            measured(service, f"{name} of a {kind}, p50", path, requests[number :: len(PATHS)])
            for kind, requests in (("new vector add", small), ("real kernel", real))
            for number, (path, name) in enumerate(PATHS.items())
        ]
    show(rows)


def measured(service: Server, name: str, path: str, requests: list[dict[str, Any]]) -> Row:
    """Return the time of a GET of `path` for compilations of `requests`, one at a time."""
    times_ms, alone_ms = [], []
    for request in requests:
        made = posted(service, request)
        time.sleep(IDLE_S)
        started = time.perf_counter()
        asked(service, "GET", f"{made['url']}/{path}?wait=60")
        times_ms.append((time.perf_counter() - started) * 1000)
        cubin = asked(service, "GET", f"{made['url']}/artifacts/cubin")
        alone_ms.append(nvdisasm_ms(cubin))
    median_ms, alone = statistics.median(times_ms), statistics.median(alone_ms)
    reported = f"{BAR_MS:g} ms allowed; nvdisasm alone {alone:.0f} ms"
    return Row(name, f"{median_ms:.0f} ms", reported, median_ms / BAR_MS, 1.0)


def posted(service: Server, request: dict[str, Any]) -> dict[str, Any]:
    """Return the compilation of `request`. Raises RuntimeError unless it succeeded."""
    made: dict[str, Any] = asked(service, "POST", "/v1/compilations?wait=60", json.dumps(request))
    if made["state"] != "succeeded":
        raise RuntimeError(f"a kernel that compiles was expected: {made['problem']}")
    return made


def nvdisasm_ms(cubin: bytes) -> float:
    """Return the time of nvdisasm alone."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        started = time.perf_counter()
        subprocess.run([NVDISASM, "-ndf", "-c", "-gp", file.name], check=True, capture_output=True)
        return (time.perf_counter() - started) * 1000


def asked(
    service: Server,
    method: str,
    path: str,
    body: str | None = None,
    statuses: Container[int] = (http.client.OK,),
) -> Any:
    """Return the answer to one request: JSON, or bytes. Raises RuntimeError for other statuses."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=90)
    try:
        connection.request(method, path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        data = response.read()
        if response.status not in statuses:
            raise RuntimeError(f"{method} {path}: {response.status} {data[:500]!r}")
        return json.loads(data) if response.headers.get_content_subtype() == "json" else data
    finally:
        connection.close()


if __name__ == "__main__":
    main()
