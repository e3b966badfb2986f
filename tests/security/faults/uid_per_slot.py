"""Tasks of a zygote whose trial of a user succeeds, but whose children cannot switch to it."""

from worker.sandbox import optional_layers

become, tried = optional_layers.become, []


def once(user):
    if user % optional_layers.SLOTS == 0 and "trial" in tried:
        raise OSError(1, "not today")
    become(user)


def trial(*arguments):
    result = keep(*arguments)
    tried.append("trial")
    return result


keep, optional_layers.tried, optional_layers.become = optional_layers.tried, trial, once


def execute(header, body, send):
    return {"ran": True}


TASKS = {"execute": execute}
