"""Tasks in kept and in single-use processes, which report the state of their process."""

import os
import sys

_SEEN = []


def acted(header, body, send):
    """Follow the header; every result has the process id and the earlier headers."""
    before = list(_SEEN)
    _SEEN.append(header.get("name"))
    if header.get("print"):
        sys.stdout.write(header["print"])
    _act(header.get("do"), send, is_used=bool(before))
    return {"pid": os.getpid(), "before": before}


def _act(how, send, *, is_used):
    match how:
        case "die":
            os.abort()
        case "die_if_used" if is_used:
            os.abort()
        case "hang_if_used" if is_used:
            send({"kind": "stage", "stage": "begun", "ms": 0}, b"")
            while True:  # no call that sleeps is allowed
                pass
        case "lack_memory_if_used" if is_used:
            raise MemoryError
        case "flood_if_used" if is_used:
            sys.stdout.write("x" * (8 << 20))
        case "garbage_if_used" if is_used:
            os.write(4, b"no frame")
        case "refuse":
            raise Refused
        case "grow":
            bytearray(300 << 20)


class Refused(Exception):
    slug, stage, message, diagnostics = "syntax_error", "request", "no", ()


def forget():
    if "keeps_a_name" not in _SEEN:
        _SEEN[:] = ["forgotten"]


TASKS = {"read": acted, "other": acted}
