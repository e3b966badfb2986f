"""Names of workers in the store: the machine, the process, and a random part."""

import os
import re
import secrets
import socket


def new_name() -> str:
    """Return a name for the worker of this process."""
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"


def is_of_this_machine(worker_id: str) -> bool:
    """Return whether a worker, or a device of one, has its process on this machine."""
    pattern = rf"{re.escape(socket.gethostname())}-\d+-[0-9a-f]{{6}}(-.*)?"
    return re.fullmatch(pattern, worker_id) is not None
