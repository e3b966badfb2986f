"""Reads and writes earlier answers of one caller's references in the store.

A store that refuses, and bytes that are not whole, are as if nothing had been kept.
"""

import asyncio
import json
import logging
from asyncio import to_thread
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict
from hashlib import sha256
from typing import Any

from compiler.labelled_digest import labelled_digest
from launch.request.reference_request import Reference
from store.errors import StoreUnavailable
from store.expected_outputs import ExpectedOutputs
from worker.compile.reports import Malformed
from worker.launch.launch_reports import read_reference_report
from worker.launch.reference_cache import ReferenceAnswer, ReferenceCache
from worker.launch.run import PreparedRun
from worker.pool.shared_bytes import Body

_DIGEST_BYTES = 32
_LENGTH_BYTES = 4
MAX_UNWRITTEN_BYTES = 64 << 20
"""The limit of one launch's answers that are not yet written to the store."""

logger = logging.getLogger(__name__)


class StoredReferences:
    """The answers of one caller's references, in this worker's memory and in the store."""

    def __init__(
        self, store: ExpectedOutputs, caller: str, memory: ReferenceCache | None = None
    ) -> None:
        self._store = store
        self._caller = caller
        self._memory = memory or ReferenceCache(0)
        self._unwritten: dict[str, ReferenceAnswer] = {}
        """Answers that are not in the store yet."""

    def key(self, reference: Reference, run: PreparedRun, facts: Mapping[str, Any]) -> str | None:
        """Return the key of the answer; None where it may depend on what no key can hold.

        `facts` are those of the zygote whose child would call it.
        """
        if facts.get("unsafe", True):  # it could read files
            return None
        dumped = run.bound.model_dump(mode="json")
        return expected_key(
            caller=self._caller,
            source=reference.source or "",
            language=reference.language,
            libraries=facts["libraries"],
            pipeline=facts["pipeline"],
            allocations=dumped["allocations"],
            arguments=dumped["arguments"],
            constexprs=run.constexprs,
        )

    async def find(self, key: str) -> ReferenceAnswer | None:
        """Return the answer that was kept under `key`."""
        known = self._memory.find(self._caller, key) or self._unwritten.get(key)
        if known is not None:
            return known
        try:
            data = await self._store.get(self._caller, key)
        except StoreUnavailable as error:
            logger.warning("cannot read reference outputs from the store: %s", error)
            return None
        answer = None if data is None else await to_thread(_read, data)
        return None if answer is None else self._memory.keep(self._caller, key, answer)

    def calculating(self, key: str) -> AbstractContextManager[None]:
        """Let other launches of this caller wait for the answer while the block runs."""
        return self._memory.calculating(self._caller, key)

    async def wait_for_other(self, key: str, limit_s: float) -> bool:
        """Wait while another launch calculates this answer; return whether one did."""
        over = self._memory.awaited(self._caller, key)
        if over is None:
            return False
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await over.wait()
        return True

    async def keep(self, key: str, answer: ReferenceAnswer) -> None:
        """Keep an answer, if there is room for it: in the store by the next `write`."""
        answer = self._memory.keep(self._caller, key, answer)
        if not self._store.has_room_for(answer.size_bytes):
            return
        self._unwritten[key] = answer
        if sum(waiting.size_bytes for waiting in self._unwritten.values()) > MAX_UNWRITTEN_BYTES:
            await self.write()

    async def write(self) -> None:
        """Write to the store what it has not got yet: no launch needs to wait for that."""
        while self._unwritten:
            key, answer = self._unwritten.popitem()
            try:
                await self._store.put(self._caller, key, await to_thread(_written, answer))
            except StoreUnavailable as error:
                logger.warning("cannot write reference outputs to the store: %s", error)


def _written(answer: ReferenceAnswer) -> bytes:
    header = json.dumps(asdict(answer.report)).encode()
    elements = (bytes(answer.outputs[name]) for name in answer.report.outputs)
    content = b"".join((len(header).to_bytes(_LENGTH_BYTES, "big"), header, *elements))
    return sha256(content).digest() + content


def _read(data: bytes) -> ReferenceAnswer | None:
    """Return what was written, None for anything else."""
    content = data[_DIGEST_BYTES:]
    if sha256(content).digest() != data[:_DIGEST_BYTES]:
        return None
    end = _LENGTH_BYTES + int.from_bytes(content[:_LENGTH_BYTES], "big")
    try:
        report = read_reference_report(json.loads(content[_LENGTH_BYTES:end]))
    except (ValueError, Malformed):
        return None
    outputs: dict[str, Body] = {}
    for name, described in report.outputs.items():
        outputs[name] = content[end : end + described.size_bytes]
        end += described.size_bytes
    return ReferenceAnswer(report, outputs) if end == len(content) else None


# The key of a reference's result: an explicit list of everything that it depends on.
#
# A wrong key would compare a kernel with another reference's result. If a reference can see
# something new, add it here and to the table of `tests/unit/launch/request/test_expected_key.py`.


def expected_key(
    *,
    caller: str,
    source: str,
    language: str,
    libraries: Mapping[str, str],
    pipeline: str,
    allocations: Sequence[Mapping[str, Any]],
    arguments: Mapping[str, Any],
    constexprs: Mapping[str, Any],
) -> str:
    """Return the key of the result of `source` for bound arguments in canonical JSON.

    `libraries` are versions by name: of Python, of all that NumPy or torch calculates with, and of
    the processor's instruction set. `pipeline` is the digest of our code. Allocations include how
    they are filled: seeds, values, digests of uploads. A reference sees neither the kernel nor its
    grid nor the tolerance.
    """
    return labelled_digest(
        "expected",
        [
            ("caller", caller),
            ("source", source),
            ("language", language),
            ("libraries", libraries),
            ("pipeline", pipeline),
            ("allocations", allocations),
            ("arguments", [[name, value] for name, value in arguments.items()]),
            ("constexprs", [[name, value] for name, value in constexprs.items()]),
        ],
    )
