"""A recorder that its program controls: the task runs the source unchanged.

It needs no torch: only the messages to the worker matter, not their sender.
"""

import json
import os
import signal
import time

PRELOADED = (json, os, signal, time)


def record(header, body, send):
    source = json.loads(body)["source"]
    answer = {"not_recordable": None, "draws_inputs": False, "attempts": []}
    scope = {"__name__": "user", "send": send, "header": header, "answer": answer}
    exec(compile(source, "/kernel/user.py", "exec"), scope)
    return scope["answer"]


TASKS = {"record": record}
