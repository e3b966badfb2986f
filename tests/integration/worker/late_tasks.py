"""Tasks that are warm only once a file is there: it stands for a machine with too much to do."""

import os
import time
from pathlib import Path

FILE = "TRITOND_TEST_WARM_ONCE_THERE"
TASKS = {"echo": lambda header, body, send: {}}


def warm_up():
    while not Path(os.environ[FILE]).exists():
        time.sleep(0.01)
