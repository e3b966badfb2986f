"""Tasks of a zygote whose trial of the empty root succeeds, but whose children cannot enter it."""

from worker.sandbox import apply


def enter(*_):
    raise OSError(1, "not today")


apply._enter_root = enter


def execute(header, body, send):
    return {"ran": True}


TASKS = {"execute": execute}
