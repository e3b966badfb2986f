"""What references came to on a GPU, remembered for a while: many candidates are held against one.

A reference is known by all that its run hangs on, and to its caller alone. Only what ran to its
end, with nothing found that forbids to believe it, is remembered.
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
"""How long: a GPU's clocks and warmth change, and so do times."""
_BESIDE_BYTES = 64 << 10
"""What one is counted as, beside its outputs."""
_NAME_BYTES = 512
"""And for each thing that is told of it: there may be 200,000."""


class KnownReferences:
    """References of one worker, within a size."""

    def __init__(self, most_bytes: int) -> None:
        self._kept = TTLCache[str, Replayed](
            most_bytes, LIFE_S, timer=time.monotonic, getsizeof=_size_bytes
        )
        self._locks = WeakValueDictionary[str, asyncio.Lock]()

    def lock(self, name: str) -> asyncio.Lock:
        """Return what is held while a reference is looked for and replayed, so that it is once."""
        lock = self._locks.get(name)
        if lock is None:
            lock = self._locks[name] = asyncio.Lock()
        return lock

    def find(self, key: str) -> Replayed | None:
        """Return what a reference came to, None where that is not known, or for too long."""
        self.forget_old()
        return self._kept.get(key)

    def keep(self, key: str, replayed: Replayed) -> None:
        """Remember a reference, if it is to be believed, and not larger than all may be."""
        if is_sound(replayed) and _size_bytes(replayed) <= self._kept.maxsize:
            self._kept[key] = replayed

    def forget_old(self) -> None:
        """Let go of what is too old, and of the memory that it returned."""
        self._kept.expire()

    @property
    def size_bytes(self) -> int:
        """What is remembered takes so much."""
        return int(self._kept.currsize)


def key_of(caller: str, gpu: str, order: ProgramOrder) -> str:
    """Return what the run of `order` on a GPU is known by: all that it hangs on."""
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
