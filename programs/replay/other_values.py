"""Changes the values of inputs, and of parameters that are still all 0 or all 1.

Two programs with equal inputs get equal values, which neither can foresee. The first call gets
other signs and a few large elements, the second call keeps the signs of one-signed inputs.
Zeros, infinities, symmetry and sorted vectors stay, since a reference may need them.
"""

from hashlib import sha256

import torch

from programs.replay.live_tensors import LiveTensors
from programs.replay.replay_order import OtherValues
from programs.tape.schema import Tape, TensorRef, TupleOf, by_path
from programs.tape.varied_tape import ParameterOrigin, origins_of

_LARGE = (1000.0, 30.0)
"""The factor of the large elements, by call."""
_FEW = 8
_ONE_IN = 64
_TRUE_SHARE = (0.5, 0.8)
_INTEGERS = frozenset({torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64})
_FLOATS = frozenset({torch.float16, torch.bfloat16, torch.float32, torch.float64})


class OtherParameters:
    """Changes parameters where they get their values."""

    def __init__(self, tape: Tape, values: OtherValues) -> None:
        ids = {name: id_ for name, id_ in tape.params if name in set(values.parameters)}
        self._tape, self._seed = tape, values.seed
        self._by_op: dict[int, list[tuple[str, ParameterOrigin]]] = {}
        for name, origin in origins_of(tape, ids).items():
            self._by_op.setdefault(origin.op, []).append((name, origin))

    def change(self, index: int, tensors: LiveTensors) -> None:
        """Change the parameters that have their values behind an op."""
        for name, origin in self._by_op.get(index, ()):
            if not tensors.has(self._tape.tensors[origin.tensor].storage):
                continue
            found = tensors.get(origin.tensor)
            first = float(found.reshape(-1)[0]) if found.numel() else 2.0
            if first not in (0.0, 1.0) or not bool((found == first).all()):
                continue
            drawn = torch.rand(found.shape, generator=_generator(self._seed, name))
            found.copy_(drawn + (0.5 if first else -0.5))


def change_inputs(tape: Tape, tensors: LiveTensors, seed: int) -> None:
    """Change the inputs of both calls in place."""
    for call, given in enumerate((tape.inputs, tape.inputs2)):
        for path, value in by_path(TupleOf(given)).items():
            if not isinstance(value, TensorRef):
                continue
            meta = tape.tensors[value.id]
            if not tensors.has(meta.storage) or 0 in meta.strides:
                continue
            found = tensors.get(value.id)
            other = _other(found, call, _generator(seed, f"{call}/{path}"))
            if other is not None:
                found.copy_(other)


def _generator(seed: int, name: str) -> torch.Generator:
    digest = sha256(f"{seed}/{name}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "little"))


def _other(found: torch.Tensor, call: int, drawn: torch.Generator) -> torch.Tensor | None:
    """Return other values for a tensor, None if it keeps its own."""
    if not found.numel():
        return None
    if found.dtype is torch.bool:
        return torch.rand(found.shape, generator=drawn) < _TRUE_SHARE[call]
    if found.dtype in _INTEGERS:
        return _integers(found, drawn)
    return _floats(found, call, drawn) if found.dtype in _FLOATS else None


def _integers(found: torch.Tensor, drawn: torch.Generator) -> torch.Tensor | None:
    flat = found.reshape(-1)
    low, high = int(flat.min()), int(flat.max())
    if flat.numel() < 2 or (found.ndim == 1 and low < high and _are_offsets(flat)):
        return None
    if low < high:
        return flat[_order(flat.numel(), drawn)].reshape(found.shape)
    return torch.randint(1, high + 1, found.shape, generator=drawn) if high > 0 else None


def _are_offsets(flat: torch.Tensor) -> bool:
    """Return True for an ascending vector, other than that of indices in order."""
    steps = flat.to(torch.int64).diff()
    return bool((steps >= 0).all()) and not bool((steps == 1).all())


def _floats(found: torch.Tensor, call: int, drawn: torch.Generator) -> torch.Tensor:
    wide = found.to(torch.float64 if found.dtype is torch.float64 else torch.float32, copy=True)
    movable = wide.isfinite() & (wide != 0)
    values = wide[movable]
    if not values.numel():
        return _drawn(wide, call, drawn) if bool((wide == 0).all()) else wide
    if bool((values == values[0]).all()):
        if values.numel() == wide.numel():  # else it may be a mask
            wide = _ones(wide, call, drawn)
        return wide
    is_sorted = found.ndim == 1 and bool((wide.diff() >= 0).all())
    is_symmetric = found.ndim > 1 and found.shape[-1] == found.shape[-2] and _is_symmetric(wide)
    values = values[_order(values.numel(), drawn)]
    if not call or bool((values.min() < 0) & (values.max() > 0)):
        values *= 1 - 2 * (torch.rand(values.numel(), generator=drawn) < 0.5).to(values.dtype)
    large = _places(values.numel(), call, drawn)
    values[large] *= _LARGE[call]
    limit = torch.finfo(found.dtype).max / 4
    wide[movable] = values.clamp(-limit, limit)
    if is_sorted:
        wide = wide.sort().values
    return wide.tril() + wide.tril(-1).mT if is_symmetric else wide


def _drawn(wide: torch.Tensor, call: int, drawn: torch.Generator) -> torch.Tensor:
    """Return random numbers in place of zeros; none is negative in the second call."""
    other = torch.randn(wide.shape, generator=drawn, dtype=wide.dtype)
    return other.abs() if call else other


def _ones(wide: torch.Tensor, call: int, drawn: torch.Generator) -> torch.Tensor:
    """Return numbers in place of a constant: half of them 0 in the second call."""
    if call:
        return wide * (torch.rand(wide.shape, generator=drawn) < 0.5)
    return wide * torch.randn(wide.shape, generator=drawn, dtype=wide.dtype)


def _is_symmetric(wide: torch.Tensor) -> bool:
    return bool((wide == wide.mT).all())


def _places(count: int, call: int, drawn: torch.Generator) -> torch.Tensor:
    """Return the positions of the elements that become large."""
    few = max(1, min(_FEW, count // 16)) if not call else max(1, count // _ONE_IN)
    return torch.randint(count, (few,), generator=drawn).unique()


def _order(count: int, drawn: torch.Generator) -> torch.Tensor:
    return torch.randperm(count, generator=drawn)
