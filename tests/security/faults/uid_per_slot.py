"""The tasks module of a zygote in which a user can be tried, but not become by a child."""

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
