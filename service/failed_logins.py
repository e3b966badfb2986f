"""How often an address may bring API keys that are not known, so that guessing them takes for ever.

Bounded in memory: the addresses that failed longest ago are forgotten first.
"""

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable

BURST = 50
PER_S = 1.0
ADDRESSES = 10_000
V6_SITE_BITS = 64
"""The part of an IPv6 address that its owner cannot choose."""


class FailedLogins:
    """Each address may fail `BURST` times at once, and then once a second."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failed: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def note(self, address: str) -> None:
        """Note that `address` brought a key that is not known."""
        site = _site(address)
        self._failed[site] = (self._count(site) + 1, self._clock())
        self._failed.move_to_end(site)
        if len(self._failed) > ADDRESSES:
            self._failed.popitem(last=False)

    def wait_s(self, address: str) -> float:
        """Return how long `address` must wait before another key is looked up; 0 for not at all."""
        return max(0.0, (self._count(_site(address)) - BURST + 1) / PER_S)

    def _count(self, site: str) -> float:
        count, at = self._failed.get(site, (0.0, 0.0))
        return max(0.0, count - (self._clock() - at) * PER_S)


def _site(address: str) -> str:
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    if ip.version == 4:
        return address
    return str(ipaddress.ip_network((int(ip), V6_SITE_BITS), strict=False))
