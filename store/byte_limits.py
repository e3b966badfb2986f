"""The most bytes of what is built by workers, kept in the store, and answered by the service.

Each limit is checked where a thing is built, where it is stored and where it is sent: Lua scripts
read them as `L.MAX_...`.
"""

from typing import Final

MAX_WITNESSES_BYTES: Final = 1 << 20
"""The launch requests in a proof that break it, together."""
