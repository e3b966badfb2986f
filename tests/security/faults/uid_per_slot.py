"""The tasks module of a zygote in which a user can be tried, but not become by a child."""

from worker.sandbox import outer

become, tried = outer.become, []


def once(user):
    if user % outer.SLOTS == 0 and "trial" in tried:
        raise OSError(1, "not today")
    become(user)


def trial(*arguments):
    result = keep(*arguments)
    tried.append("trial")
    return result


keep, outer.tried, outer.become = outer.tried, trial, once


def execute(header, body, send):
    return {"ran": True}


TASKS = {"execute": execute}
