"""Answers the receipt of a program: its record, sources, tapes and digests, signed."""

from fastapi import Request, Response

from programs.receipt import receipt_of, receipt_payload, signed_bytes
from programs.stored_programs import StoredProgram
from service import VERSION
from service.http.problems import ProblemRaised
from service.http.validators import Caching, validated
from service.receipt_key import ReceiptKey
from service.state import ServiceState


async def receipt_answer(
    request: Request, state: ServiceState, program_id: str, stored: StoredProgram
) -> Response:
    """Return the receipt of a program.

    Raises ProblemRaised: 409 before the program has ended, 404 if nothing ran or the service has
    no key, 410 if a part of the receipt has left the cache.
    """
    key = state.receipt_key
    if key is None:
        detail = "This service signs no receipts: its operator can set TRITOND_RECEIPT_KEY_FILE"
        raise ProblemRaised("not_found", detail)
    result = await state.jobs.result(program_id)
    if result is None:
        if await state.jobs.state(program_id) is not None:
            detail = "The program has not ended. Ask again, or wait for the program"
            raise ProblemRaised("not_finished", detail, headers={"Retry-After": "1"})
        raise ProblemRaised("not_found", "The program has expired; post it again")
    if stored.receipt is None:
        detail = "There is no receipt, since the program was not judged: see its `problem`"
        raise ProblemRaised("not_found", detail)
    work = await state.blobs.get(stored.receipt)
    if work is None:
        raise ProblemRaised("evicted", "The receipt has left the cache; post the program again")
    tapes = {
        whose: (digest, await state.blobs.get(digest)) for whose, digest in stored.tapes.items()
    }
    # in a thread: all of it may be long
    text = await state.threads.run(_signed, key, result.record, work, tapes)
    return await validated(request, text, Caching.FINAL, {})


def _signed(
    key: ReceiptKey, record: bytes, work: bytes, tapes: dict[str, tuple[str, bytes | None]]
) -> bytes:
    payload = receipt_payload(record, work, tapes, VERSION)
    receipt = receipt_of(payload, key.id, key.sign(signed_bytes(payload)))
    return receipt.model_dump_json().encode()
