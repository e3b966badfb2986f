"""Small tasks that show what a pool does with a child's words."""

import sys
import time


class Refused(Exception):
    """As a compiler would say that it cannot."""

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
    end = time.monotonic() + header["seconds"]
    while time.monotonic() < end:
        pass
    return {}


def wait(header, body, send):
    while True:
        pass


def wrong(header, body, send):
    return {"x": float("nan")}


def touched(header, body, send):
    return {"touched": TOUCHED}


TOUCHED = []


def touch(profile):
    sys.stdout.write("preparing\n")
    TOUCHED.append(profile)


TASKS = {
    "echo": echo,
    "stages": stages,
    "refuse": refuse,
    "speak": speak,
    "wait": wait,
    "busy": busy,
    "wrong": wrong,
    "touched": touched,
}
