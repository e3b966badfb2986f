"""Small tasks that test a pool's handling of a child's messages."""

import os
import sys
import time


class Refused(Exception):
    """A compiler's refusal."""

    slug, stage, message = "compile_error", "ttir", "no such shape"
    diagnostics = ({"severity": "error", "line": 3},)


def echo(header, body, send):
    return {"length": len(body), "header": header}


def stages(header, body, send):
    for name in ("source", "ttir", "cubin"):
        send({"kind": "stage", "stage": name, "ms": 1.5}, name.encode() * header["times"])
    return {}


def refuse(header, body, send):
    send({"kind": "stage", "stage": "source", "ms": 1}, b"text")
    raise Refused


def speak(header, body, send):
    sys.stdout.write("to stdout\n")
    sys.stderr.write("to stderr\n")
    return {}


def busy(header, body, send):
    end = time.process_time() + header["cpu_s"]
    while time.process_time() < end:
        pass
    return {}


def wait(header, body, send):
    while True:
        pass


def wrong(header, body, send):
    return {"x": float("nan")}


def prewarmed(header, body, send):
    return {"prewarmed": PREWARMED}


PREWARMED = []


def prewarm(profile):
    sys.stdout.write("preparing\n")
    PREWARMED.append(profile)


def look(header, body, send):
    """Report the body, whether it is writable, and the open descriptors."""
    try:
        body[0] = 1
        is_changed = True
    except TypeError:
        is_changed = False
    open_ones = [number for number in range(200) if _is_open(number)]
    text = bytes(body).decode(errors="replace")
    return {"type": type(body).__name__, "text": text, "changed": is_changed, "open": open_ones}


def _is_open(descriptor):
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def die_of(header, body, send):
    os.abort()


TASKS = {
    "look": look,
    "die": die_of,
    "echo": echo,
    "stages": stages,
    "refuse": refuse,
    "speak": speak,
    "wait": wait,
    "busy": busy,
    "wrong": wrong,
    "prewarmed": prewarmed,
}
