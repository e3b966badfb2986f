"""Products that no schema shows: of stored data, and of several requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tests.cost_fuzz import vocabulary as words
from tests.cost_fuzz.case import Case, posting
from tests.cost_fuzz.prepared import LAUNCH, PROGRAM, PROOF, SWEEP, Prepared, digest_of, npy
from tests.cost_fuzz.sending import Sent

_FAILING = "raise ValueError('é' * 60_000)\n"


def products() -> Iterator[Case]:
    """Yield the cases."""
    yield from _proofs()
    yield from _launches()
    yield from _compilations()
    yield from _batches()
    yield from _sweeps()
    yield from _stored()
    yield from _many_at_once()


def _post(name: str, path: str, body: Any, items: int = 0) -> Case:
    operation = f"POST {path}"
    return Case(name, operation, lambda _: posting(operation, path, body(), items))


def _proofs() -> Iterator[Case]:
    for constexprs in (60, 250):
        yield _post(
            f"proof: {constexprs} constexprs x 8 cases",
            "/v1/proofs",
            lambda constexprs=constexprs: {
                "source": words.HEADER,
                "kernel": "kernel",
                "constexprs": {f"C{n}": 3 + 2 * n for n in range(constexprs)},
                "cases": words.values("ProofRequest", "cases", 0)["scalars"],
            },
        )
    for stores, size_bytes in ((100, 200_000), (390, 900_000)):
        yield _post(
            f"proof: {stores} refuted accesses x {size_bytes} bytes of source",
            "/v1/proofs",
            lambda stores=stores, size_bytes=size_bytes: (
                PROOF
                | {"source": words.padded(words.storing(stores), size_bytes), "deadline_s": 90}
            ),
        )
    for lines, distinct in ((32_000, 50), (66_000, 105)):
        yield _post(
            f"proof: a fix of {lines} lines, {distinct} distinct",
            "/v1/proofs",
            lambda lines=lines, distinct=distinct: (
                PROOF | {"source": words.short_lines(lines, distinct), "deadline_s": 90}
            ),
        )
    yield _post(
        "proof: 390 accesses x 3 checks, all masked",
        "/v1/proofs",
        lambda: (
            PROOF
            | {
                "source": words.storing(390, masked=True),
                "checks": ["bounds", "overflow", "races"],
                "deadline_s": 60,
            }
        ),
    )

    def from_cache(prepared: Prepared) -> Sent:
        body = PROOF | {"source": words.storing(4)}
        prepared.finished("/v1/proofs", body)
        return posting("POST /v1/proofs", "/v1/proofs", body)

    yield Case("proof: a refuted one from the cache", "POST /v1/proofs", from_cache)


def _launch(**changes: Any) -> dict[str, Any]:
    return {name: LAUNCH[name] for name in ("compilation", "device", "grid", "arguments")} | changes


def _launches() -> Iterator[Case]:
    cases = [{"name": f"c{n}", "arguments": words.add_arguments(128 + n)} for n in range(100)]
    source = words.padded(words.ADD, 900_000)
    kernel = {"source": source, "constexprs": {"B": 16}, "target": "cuda:90"}
    many = ", ".join(f"C{n}: tl.constexpr" for n in range(250))
    fill = {"source": "def reference(**_):\n    return {'o_ptr': 1 / 0}\n" + "#" * 200_000}
    yield _post(
        "launch: 100 cases x a large source",
        "/v1/launches",
        lambda: _launch(compilation=kernel, cases=cases),
    )
    yield _post(
        "launch: 100 cases x a reference that fails",
        "/v1/launches",
        lambda: _launch(reference=fill, cases=cases),
    )
    yield _post(
        "launch: 100 cases x values of each output",
        "/v1/launches",
        lambda: _launch(
            cases=[{"arguments": words.add_arguments(4000 + n)} for n in range(100)],
            **{"return": {"o_ptr": "values"}},
        ),
    )
    yield _post(
        "launch: 100 cases x findings",
        "/v1/launches",
        lambda: _launch(
            compilation=kernel | {"source": words.padded(words.storing(60), 300_000)}, cases=cases
        ),
    )
    yield _post(
        "launch: checks by proof x 250 constexprs x 100 cases",
        "/v1/launches",
        lambda: _launch(
            compilation=kernel
            | {
                "source": words.ADD.replace("B: tl", f"{many}, B: tl"),
                "constexprs": {"B": 16} | {f"C{n}": 3 + 2 * n for n in range(250)},
            },
            cases=cases,
            checks=["proof"],
        ),
    )
    yield _post(
        "launch: 4 cases x 65,000 values",
        "/v1/launches",
        lambda: _launch(
            arguments=words.add_arguments(65_000)
            | {
                "x_ptr": words.buffer(65_000, init={"kind": "values", "values": [0.5] * 65_000}),
            },
            cases=[{"arguments": {"n": n}} for n in range(1, 5)],
        ),
    )
    yield _post(
        "launch: a trace of many accesses x values",
        "/v1/launches",
        lambda: _launch(
            compilation=kernel | {"source": words.storing(200, masked=True)},
            trace={"programs": [[n, 0, 0] for n in range(8)], "max_accesses": 10_000},
        ),
    )

    def one_id_many_times(prepared: Prepared) -> Sent:
        stored = _launch(
            compilation=kernel | {"source": words.padded(words.storing(20), 25_000)},
            cases=cases[:3],
            checks=["proof"],
        )
        launch_id = prepared.finished("/v1/launches", stored)["id"]
        operation = "POST /v1/launches/query"
        return posting(operation, "/v1/launches/query", {"ids": [launch_id] * 1000}, 1000)

    yield Case("query: one launch 1,000 times", "POST /v1/launches/query", one_id_many_times)

    def many_ids(prepared: Prepared) -> Sent:
        batch = {
            "kind": "launches",
            "requests": [_launch(arguments=words.add_arguments(100 + n)) for n in range(60)],
        }
        record = prepared.finished("/v1/batches", batch)
        ids = [item["result"]["id"] for item in record["items"]]
        return posting("POST /v1/launches/query", "/v1/launches/query", {"ids": ids}, len(ids))

    yield Case("query: 60 launches", "POST /v1/launches/query", many_ids)


def _compilations() -> Iterator[Case]:
    for name, source in (
        ("an error of 60,000 characters", words.ADD + _FAILING),
        ("10 MB printed", words.ADD + "for _ in range(10_000):\n    print('x' * 1000)\n"),
        ("400 stores", words.storing(400, masked=True)),
        (
            "10,000 warnings",
            words.ADD
            + "import warnings\nfor n in range(10_000):\n    warnings.warn(str(n) * 50)\n",
        ),
    ):
        yield _post(
            f"compilation: {name}",
            "/v1/compilations",
            lambda source=source: {
                "source": source,
                "signature": words.SIGNATURE,
                "constexprs": {"B": 1024},
                "target": "cuda:90",
                "include": ["ttir", "ttgir", "llir", "ptx", "cubin"],
                "timeout_s": 30,
            },
        )
    for part in (
        "lines",
        "instructions",
        "explanation",
        "passes",
        "layouts",
        "artifacts/numpy",
        "artifacts/sass",
        "exports/c",
        "exports/triton-cache",
        "diff/{}",
    ):

        def of_a_large_one(prepared: Prepared, part: str = part) -> Sent:
            key, other = (_large(prepared, stores) for stores in (390, 391))
            return Sent("GET", f"/v1/compilations/{key}/{part.format(other)}")

        operation = part.replace("{}", "{other}").replace("exports/c", "exports/{format}")
        operation = operation.replace("exports/triton-cache", "exports/{format}")
        yield Case(
            f"derived from 390 stores: {part}",
            f"GET /v1/compilations/{{key}}/{operation}",
            of_a_large_one,
        )


def _large(prepared: Prepared, stores: int) -> str:
    return prepared.compilation(
        source=words.storing(stores, masked=True), constexprs={"B": 1024}, timeout_s=60
    )


def _batches() -> Iterator[Case]:
    def batch(kind: str, requests: Callable[[], list[Any]]) -> Case:
        name = f"batch: 1,000 {kind}"
        return _post(
            name, "/v1/batches", lambda: {"kind": kind, "requests": requests()}, items=1000
        )

    yield batch(
        "launches", lambda: [_launch(arguments=words.add_arguments(1 + n)) for n in range(1000)]
    )
    yield batch("programs", lambda: [PROGRAM | {"seed": n} for n in range(1000)])
    yield batch("proofs", lambda: [PROOF | {"deadline_s": 10.0 + n} for n in range(1000)])


def _sweeps() -> Iterator[Case]:
    many = {f"C{n}": [n] for n in range(60_000)}
    yield _post(
        "sweep: 60,000 axes",
        "/v1/sweeps",
        lambda: SWEEP | {"space": {"product": {"constexprs": many}}},
    )
    numbers = list(range(316))
    yield _post(
        "sweep: 99,856 combinations x conditions",
        "/v1/sweeps",
        lambda: (
            SWEEP
            | {
                "space": {"product": {"constexprs.B": numbers, "constexprs.C": numbers}},
                "where": ["B * C > 99999999"],
            }
        ),
    )


def _stored() -> Iterator[Case]:
    def tensor(prepared: Prepared) -> Sent:
        body = npy(64 << 20)
        return Sent("PUT", f"/v1/tensors/{digest_of(body)}", body)

    yield Case("tensor: 64 MiB", "PUT /v1/tensors/{digest}", tensor)

    def download(prepared: Prepared) -> Sent:
        return Sent("GET", f"/v1/tensors/{prepared.uploaded('tensors', npy(64 << 20))}")

    yield Case("tensor: 64 MiB, back", "GET /v1/tensors/{digest}", download)

    def wide_sweep(prepared: Prepared) -> Sent:
        return Sent("GET", _sweep(prepared) + "?sort=" + ",".join(["registers"] * 8))

    yield Case("sweep: its table, sorted by 8 columns", "GET /v1/sweeps/{sweep_id}", wide_sweep)

    def csv(prepared: Prepared) -> Sent:
        return Sent("GET", _sweep(prepared) + "?format=csv")

    yield Case("sweep: its table as CSV", "GET /v1/sweeps/{sweep_id}", csv)

    def winners(prepared: Prepared) -> Sent:
        return Sent("GET", _sweep(prepared) + "/winners/bundle?of=all&wait=60")

    yield Case("sweep: a bundle of all rows", "GET /v1/sweeps/{sweep_id}/winners/{format}", winners)

    def batch(prepared: Prepared) -> Sent:
        return Sent("GET", str(_failing_batch(prepared)["url"]), items=100)

    yield Case("batch: 100 results of 60,000 characters", "GET /v1/batches/{batch_id}", batch)


def _sweep(prepared: Prepared) -> str:
    """Return the path of a sweep with 60 rows, each with a long value."""
    body = {
        "base": {
            "source": words.ADD.replace("B: tl", "L: tl.constexpr, B: tl"),
            "signature": words.SIGNATURE,
            "target": "cuda:90",
            "stop_after": "ttir",
        },
        "space": {
            "product": {
                "constexprs.B": [16, 32, 64],
                "options.num_warps": [1, 2, 4, 8],
                "constexprs.L": [[n] * 200 for n in range(5)],
            }
        },
    }
    return str(prepared.finished("/v1/sweeps", body, within_s=240)["url"])


def _failing_batch(prepared: Prepared) -> dict[str, Any]:
    requests = [
        {
            "source": words.ADD + _FAILING + f"# {n}",
            "signature": words.SIGNATURE,
            "constexprs": {"B": 16},
            "target": "cuda:90",
        }
        for n in range(100)
    ]
    return prepared.finished(
        "/v1/batches", {"kind": "compilations", "requests": requests}, within_s=240
    )


def _many_at_once() -> Iterator[Case]:
    def polling(prepared: Prepared) -> Sent:
        return Sent("GET", _endless(prepared) + "?wait=2")

    def events(prepared: Prepared) -> Sent:
        return Sent("GET", _endless(prepared) + "/events")

    for clients in (100, 1000):
        yield Case(f"{clients} long polls", "GET /v1/compilations/{key}", polling, clients)
        yield Case(
            f"{clients} streams of events", "GET /v1/compilations/{key}/events", events, clients
        )


def _endless(prepared: Prepared) -> str:
    """Return the path of a compilation that waits for 10 s."""
    wait = "import threading\nthreading.Event().wait(8)\n"
    body = {
        "source": wait + words.ADD + f"# {id(object())}",
        "signature": words.SIGNATURE,
        "constexprs": {"B": 16},
        "target": "cuda:90",
        "timeout_s": 10,
    }
    return prepared.started("/v1/compilations", body)
