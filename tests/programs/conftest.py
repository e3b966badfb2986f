"""Programs recorded and replayed with torch: these run in the environment of `make test-torch`.

Collected only there, since nothing else needs torch.
"""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("TRITOND_TEST_TORCH") else ["test_*.py"]
