"""Judges a program again from its receipt, on any machine with a worker's packages and torch.

    $ python examples/rejudge.py receipt.json --key PUBLIC

PUBLIC is `receipt_key.public` of `GET /v1/system` of the service that gave the receipt. No service
is needed here: a worker of this machine records, compiles and replays the program in its sandbox,
with a separate store. Then each statement of the receipt is compared with the results here.

Exit status: 0 if no statement differs, 1 if one does, 2 if this key signed no such file.
"""

import argparse
import asyncio
import base64
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from jobs.submission import JobClient, JobOrder
from programs.program_job import ProgramJob
from programs.program_kind import PROGRAM
from programs.receipt import Receipt, signed_bytes
from programs.stored_programs import Programs
from service.up import UpPart
from store.blobs import Blobs
from store.connection import StoreClient, connect, connect_blocking
from store.embedded import EmbeddedValkey
from store.jobs.producer import JobProducer
from store.jobs.types import programs_lane
from store.jobs.waiting import ResultWaiter
from store.workers import Workers

WORKER_READY_S = 600.0
POLL_S = 0.5
ME = "rejudge"
REPEATED, DIFFERS, NOT_HERE = "repeated", "DIFFERS", "not repeated"


class NoReceipt(Exception):
    """The file is not a receipt, or another key signed it."""


@dataclass(frozen=True)
class Statement:
    """One statement of the receipt, and whether it holds here."""

    name: str
    outcome: str
    note: str = ""


def verified(text: bytes, public: str) -> dict[str, Any]:
    """Return the payload of a receipt. Raises NoReceipt."""
    try:
        receipt = Receipt.model_validate_json(text)
        payload = base64.b64decode(receipt.payload)
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public))
    except ValueError as error:
        raise NoReceipt(f"expected a receipt and a public key: {error}") from None
    for signature in receipt.signatures:
        try:
            key.verify(base64.b64decode(signature.sig), signed_bytes(payload))
        except (InvalidSignature, ValueError):
            continue
        members: dict[str, Any] = json.loads(payload)
        return members
    raise NoReceipt("the signature is not one of this key")


async def judged_here(signed: dict[str, Any]) -> dict[str, Any]:
    """Run the program of a receipt on this machine, and return what its receipt would state."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        valkey = await stack.enter_async_context(EmbeddedValkey(Path(folder)))
        redis = await stack.enter_async_context(connect(valkey.url))
        worker = UpPart("worker", {**os.environ, "TRITOND_REDIS_URL": valkey.url})
        await worker.start()
        stack.push_async_callback(worker.stop)
        job = await _job(signed["job"], redis)
        print(f"judging {signed['program']['id']} with the toolchain {job.toolchain_id}")
        client = await stack.enter_async_context(_client(valkey.url, redis))
        await Programs(redis).create(job.id, ME)
        await client.submit(JobOrder(PROGRAM, job, ME))
        while (result := await client.results.wait(job.id, POLL_S)) is None:
            pass
        stored = await Programs(redis).find(job.id, ME)
        work = None
        if stored is not None and stored.receipt is not None:
            work = await Blobs(redis).get(stored.receipt)
        tapes = {} if stored is None else dict(stored.tapes)
        return {"program": json.loads(result.record), "tapes": tapes, **json.loads(work or b"{}")}


@asynccontextmanager
async def _client(url: str, redis: StoreClient) -> AsyncIterator[JobClient]:
    async with connect_blocking(url) as blocking:
        waiter = ResultWaiter(redis, blocking)
        reading = asyncio.create_task(waiter.run())
        try:
            yield JobClient(JobProducer(redis), waiter)
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)


async def _job(asked: dict[str, Any], redis: StoreClient) -> ProgramJob:
    """Return the job for the worker of this machine, on the CPU device, once that is ready."""
    async with asyncio.timeout(WORKER_READY_S):
        while not (known := await Workers(redis).known_programs()):
            await asyncio.sleep(POLL_S)
    toolchain = min(known)
    own = {"id": ME, "caller": ME, "namespace": "", "lane": programs_lane(toolchain)}
    if asked["device"] is not None:
        own |= {"device": None, "timing": None, "checks": None}
    return ProgramJob.model_validate_json(json.dumps(asked | own | {"toolchain_id": toolchain}))


def compared(signed: dict[str, Any], here: dict[str, Any]) -> Iterator[Statement]:
    """Yield each statement of a receipt with its outcome here."""
    for whose, tape in signed["tapes"].items():
        yield _statement(f"tape of the {whose}", tape["digest"], here["tapes"].get(whose))
        if tape["text"] is not None:
            digest = "sha256:" + hashlib.sha256(tape["text"].encode()).hexdigest()
            yield _statement(f"text of that tape ({whose})", tape["digest"], digest)
    yield from _kernels(signed, here)
    yield from _values(signed, here)
    then, now = signed["program"], here["program"]
    yield _statement("verdict", then["verdict"], now["verdict"])
    for members in ("flags", "findings"):
        yield _statement(members, _places(then, members), _places(now, members))
    rewards = [program["reward"] or {} for program in (then, now)]  # null: the reference failed
    for member in ("compiled", "correct", "serious"):
        yield _statement(f"reward.{member}", *(reward.get(member) for reward in rewards))
    if then["timing"] is not None:
        clock = then["timing"].get("clock_mhz")
        yield Statement("times", NOT_HERE, f"of {then['device']['model']} at {clock} MHz")
    if then["coverage_measure"] is not None:
        yield Statement("coverage", NOT_HERE, "it is measured")


def _statement(name: str, signed: Any, here: Any) -> Statement:
    if signed == here:
        return Statement(name, REPEATED)
    return Statement(name, DIFFERS, f"the receipt has {signed!r:.200}, here it is {here!r:.200}")


def _places(program: dict[str, Any], members: str) -> list[tuple[str, int]]:
    """Return kind and line of flags or findings, those of cases too."""
    runs = [program, *(program["cases"] or [])]
    found = {(one["kind"], one["line"] or 0) for run in runs for one in run[members] or []}
    return sorted(found)


def _kernels(signed: dict[str, Any], here: dict[str, Any]) -> Iterator[Statement]:
    """Yield a statement for each kernel: the digests of the stages that are made on both sides."""
    known = {(name, at): stages for name, at, stages in _compiled(here)}
    for name, at, stages in _compiled(signed):
        made = known.get((name, at), {})
        both = sorted(stages.keys() & made.keys())
        if not both:
            yield Statement(f"kernel {name}", NOT_HERE, "no stage of it was made here")
            continue
        same = [stage for stage in both if stages[stage] == made[stage]]
        absent = ", ".join(sorted(stages.keys() - made.keys()))
        note = f"{', '.join(both)}" + (f"; not made here: {absent}" if absent else "")
        outcome = REPEATED if same == both else DIFFERS
        yield Statement(f"kernel {name}", outcome, note)


def _compiled(receipt: dict[str, Any]) -> Iterator[tuple[str, int, dict[str, str]]]:
    """Yield name, number among those of this name, and stages of the candidate's kernels."""
    numbers: dict[str, int] = {}
    for kernel in receipt["program"]["kernels"]:
        name = kernel["name"]
        numbers[name] = numbers.get(name, 0) + 1
        stages = receipt.get("kernels", {}).get(kernel["compilation_key"], {})
        yield name, numbers[name], stages


def _values(signed: dict[str, Any], here: dict[str, Any]) -> Iterator[Statement]:
    """Yield a statement for the values of the candidate, and one for the reference's."""
    found = {_named(value): value["sha256"] for value in here.get("values", [])}
    for program in ("candidate", "reference"):
        of_it = [one for one in signed["values"] if one["program"] == program]
        both = [one for one in of_it if one["sha256"] and found.get(_named(one))]
        if not both:
            yield Statement(f"values of the {program}", NOT_HERE, "one side has no digests")
            continue
        same = sum(found[_named(value)] == value["sha256"] for value in both)
        outcome = REPEATED if same == len(both) else DIFFERS
        note = f"{same} of {len(both)} equal bit for bit; without a digest: {len(of_it) - len(both)}"
        yield Statement(f"values of the {program}", outcome, note)


def _named(value: dict[str, Any]) -> tuple[Any, ...]:
    names = ("case", "trial", "program", "call", "path", "dtype")
    return (*(value[name] for name in names), tuple(value["shape"]))


def main() -> int:
    """Judge again; return the exit status."""
    parser = argparse.ArgumentParser(description="Judge a program again from its receipt.")
    parser.add_argument("receipt", type=Path)
    parser.add_argument("--key", required=True, help="`receipt_key.public` of GET /v1/system")
    arguments = parser.parse_args()
    try:
        signed = verified(arguments.receipt.read_bytes(), arguments.key)
    except (NoReceipt, OSError) as error:
        print(f"{arguments.receipt}: {error}", file=sys.stderr)
        return 2
    statements = [Statement("signature", REPEATED)]
    statements += compared(signed, asyncio.run(judged_here(signed)))
    for one in statements:
        print(f"{one.outcome:12} {one.name}" + (f": {one.note}" if one.note else ""))
    return 1 if any(one.outcome == DIFFERS for one in statements) else 0


if __name__ == "__main__":
    sys.exit(main())
