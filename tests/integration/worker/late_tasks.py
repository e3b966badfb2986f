"""Tasks that are warm only once a file exists, like on a busy machine."""

import os
import time
from pathlib import Path

FILE = "TRITOND_TEST_WARM_ONCE_THERE"
TASKS = {"echo": lambda header, body, send: {}}


def warm_up():
    while not Path(os.environ[FILE]).exists():
        time.sleep(0.01)
