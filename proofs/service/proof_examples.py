"""Examples of answers for the API's documentation: the files in `examples`."""

from pathlib import Path

from proofs.proof_record import Proof
from service.http.examples import answers

_FOLDER = Path(__file__).parent / "examples"
ANSWERS = answers(_FOLDER / "over.json", Proof)
UNDER_WAY = answers(_FOLDER / "unfinished.json", Proof)
CANCELLED = answers(_FOLDER / "cancelled.json", Proof)
