"""Caches replays of references on a GPU for a while, as many candidates share one reference.

The key covers everything that a run depends on, and the caller. Only runs that finished without
findings are kept.
"""

import asyncio
import hashlib
import time
from weakref import WeakValueDictionary

from cachetools import TTLCache

from programs.gpu.program_order import ProgramOrder
from programs.worker.program_comparison import is_sound
from programs.worker.replayed import Replayed, ReplayedTensor

LIFE_S = 300.0
"""Lifetime of an entry. A GPU's clocks and temperature change, and times with them."""
_BESIDE_BYTES = 64 << 10
"""The size counted for an entry, besides its outputs."""
_NAME_BYTES = 512
"""The size counted for each of its details: there may be 200,000."""


class ReferenceReplayCache:
    """The replays of references of one worker, within a size."""

    def __init__(self, most_bytes: int) -> None:
        self._kept = TTLCache[str, Replayed](
            most_bytes, LIFE_S, timer=time.monotonic, getsizeof=_size_bytes
        )
        self._locks = WeakValueDictionary[str, asyncio.Lock]()

    def lock(self, name: str) -> asyncio.Lock:
        """Return the lock to hold while a reference is looked up and replayed, to do that once."""
        lock = self._locks.get(name)
        if lock is None:
            lock = self._locks[name] = asyncio.Lock()
        return lock

    def find(self, key: str) -> Replayed | None:
        """Return the replay of a reference, None if it is unknown or too old."""
        self.forget_old()
        return self._kept.get(key)

    def keep(self, key: str, replayed: Replayed) -> None:
        """Keep the replay of a reference if it is sound and within the size."""
        if is_sound(replayed) and _size_bytes(replayed) <= self._kept.maxsize:
            self._kept[key] = replayed

    def forget_old(self) -> None:
        """Drop entries that are too old, and free their memory."""
        self._kept.expire()

    @property
    def size_bytes(self) -> int:
        """The size of all entries."""
        return int(self._kept.currsize)


def key_of(caller: str, gpu: str, order: ProgramOrder) -> str:
    """Return the key of a run of `order` on a GPU: a digest of everything it depends on."""
    digest = hashlib.sha256()
    kernels = [
        (name, hashlib.sha256(one.cubin).hexdigest(), one.abi, sorted(one.scalars.items()))
        for name, one in order.kernels.items()
    ]
    rest = (caller, gpu, order.seed, order.memory_bytes, order.timing, kernels, order.launches)
    tapes = [order.tape] if order.inputs_tape is None else [order.tape, order.inputs_tape]
    for part in (repr(rest).encode(), *tapes):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _size_bytes(replayed: Replayed) -> int:
    tensors = [item for call in replayed.calls for item in call.values()]
    returned = sum(len(one.data or b"") for one in tensors if isinstance(one, ReplayedTensor))
    names = [path for call in replayed.calls for path in call]
    variables = [one for state in replayed.module_states for one in state.get("variables", ())]
    names += [str(one["name"]) for one in variables]
    parts = len(names) + len(replayed.variants) + len(replayed.parameters)
    return _BESIDE_BYTES + _NAME_BYTES * parts + 4 * sum(map(len, names)) + returned
