"""Examples of answers for the API's documentation: the files in `examples`."""

from pathlib import Path

from programs.program_record import Program
from programs.tape.read_tape import read_tape
from programs.tape.tape_text import tape_text
from service.http.examples import answers, example

_FOLDER = Path(__file__).parent / "examples"
ANSWERS = answers(_FOLDER / "over.json", Program)
UNDER_WAY = answers(_FOLDER / "unfinished.json", Program)
CANCELLED = answers(_FOLDER / "cancelled.json", Program)
RECEIPT = example(_FOLDER / "receipt.json")
TAPE = example(_FOLDER / "tape.json")
TAPE_TEXT = tape_text(read_tape((_FOLDER / "tape.json").read_bytes()))
