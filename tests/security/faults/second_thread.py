"""A tasks module whose import leaves a second thread behind."""

import threading
import time

threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
TASKS = {}
