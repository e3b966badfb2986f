"""Tasks of a zygote whose children cannot apply the layer `limits`."""

from worker.sandbox import rlimits


def enter(*_, **__):
    raise OSError(38, "not today")


rlimits.enter = enter


def execute(header, body, send):
    return {"ran": True}


TASKS = {"execute": execute}
