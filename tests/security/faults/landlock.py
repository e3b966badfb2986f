"""Tasks of a zygote whose children cannot apply the layer `landlock`."""

from worker.sandbox import landlock


def enter(*_, **__):
    raise OSError(38, "not today")


landlock.enter = enter


def execute(header, body, send):
    return {"ran": True}


TASKS = {"execute": execute}
