"""The current recording of this process, which the patched torch looks up, and values it knows.

Small tensors that depend on no data have known values, so that `linspace(0, 1, 8)[3].item()` works.
A value is dropped at the first write to its storage. Inputs of a program never have one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_flatten, tree_map

from programs.recorder.kernel_definitions import KernelDefinitions, TritonChanges
from programs.recorder.launch_collection import LaunchCollection
from programs.recorder.record_order import NotRecordable, RecordOrder, SandboxAttempt
from programs.recorder.refusals import UserLines
from programs.recorder.tape_writer import TapeWriter, key_of

MAX_ELEMENTS = 4096
_FACTORIES = frozenset(
    f"aten.{name}"
    for name in (
        "arange.default", "arange.start", "arange.start_step", "eye.default", "full.default",
        "linspace.default", "logspace.default", "ones.default", "scalar_tensor.default",
        "zeros.default", "bartlett_window.default", "bartlett_window.periodic",
        "blackman_window.default", "blackman_window.periodic", "hamming_window.default",
        "hamming_window.periodic", "hann_window.default", "hann_window.periodic",
    )
)  # fmt: skip
_LIKE = frozenset(
    f"aten.{name}.default"
    for name in (
        "full_like", "new_full", "new_ones", "new_zeros", "ones_like", "zeros_like",
    )
)  # fmt: skip
"""Ops that use only the shape of their tensor."""
_UNDEFINED = frozenset(
    f"aten.{name}"
    for name in (
        "empty.memory_format", "empty_like.default", "empty_strided.default", "new_empty.default",
        "new_empty_strided.default", "empty_permuted.default",
    )
)  # fmt: skip


class KnownValues:
    """Real tensors on the CPU with the values of fake ones."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], Any] = {}
        self._by_storage: dict[int, set[tuple[Any, ...]]] = {}

    def of(self, tensor: Any) -> Any | None:
        """Return a real tensor with the values of a fake one, None if they are not known."""
        return self._known.get(key_of(tensor)) if self._known else None

    def arguments(self, op: Any, name: str, tensors: list[Any]) -> dict[int, Any] | None:
        """Return the values of an op's tensors by their `id`; None unless all are known."""
        if op._schema.is_mutable or torch.Tag.nondeterministic_seeded in op.tags:
            return None
        if not tensors:
            return {} if name in _FACTORIES else None
        if name in _UNDEFINED:
            return None
        if name == "aten.lift_fresh.default" and not isinstance(tensors[0], FakeTensor):
            small = tensors[0].numel() <= MAX_ELEMENTS
            return {id(tensors[0]): tensors[0]} if small else None
        if name in _LIKE and tensors[0].numel() <= MAX_ELEMENTS and len(tensors) == 1:
            return {id(tensors[0]): _of_shape(tensors[0])}
        if not self._known:
            return None
        values = {id(tensor): self.of(tensor) for tensor in tensors}
        return None if any(value is None for value in values.values()) else values

    def note(self, op: Any, args: Any, kwargs: Any, real: dict[int, Any], returned: Any) -> None:
        """Run an op on real tensors, and keep the values of its outputs if they are small."""
        fakes = [item for item in tree_flatten(returned)[0] if isinstance(item, torch.Tensor)]
        if any(fake.numel() > MAX_ELEMENTS for fake in fakes):
            return

        def real_item(item: Any) -> Any:
            if isinstance(item, torch.Tensor):
                return real[id(item)]
            return torch.device("cpu") if isinstance(item, torch.device) else item

        named = {name: value for name, value in kwargs.items() if name != "pin_memory"}
        with _disable_current_modes():
            try:
                made = op(*tree_map(real_item, args), **tree_map(real_item, named))
            except (RuntimeError, NotImplementedError):
                return  # the CPU lacks the op
            values = [item.clone() for item in tree_flatten(made)[0] if hasattr(item, "clone")]
        for fake, value in zip(fakes, values, strict=False):
            key = key_of(fake)
            self._known[key] = value
            self._by_storage.setdefault(key[0], set()).add(key)

    def forget(self, tensors: list[Any]) -> None:
        """Drop the values of tensors that an ATen op writes to, and of those that share storage.

        Constants of the fake tensors themselves stay, as FakeTensorMode updates them in such ops.
        """
        if not self._known:
            return
        for tensor in tensors:
            for key in self._by_storage.pop(tensor.untyped_storage()._cdata, ()):
                self._known.pop(key, None)

    def forget_with_constants(self, tensors: list[Any]) -> None:
        """Drop values of tensors, and FakeTensorMode's constants, after a write that it missed."""
        self.forget(tensors)
        for tensor in tensors:
            constant = getattr(tensor, "constant", None)
            if constant is not None:
                tensor.fake_mode.fake_tensor_converter.invalidate_constant_aliases(constant)
                tensor.constant = None


def _of_shape(fake: Any) -> Any:
    with _disable_current_modes():
        return torch.empty_strided(fake.shape, fake.stride(), dtype=fake.dtype)


class Recording:
    """One program that is being recorded."""

    def __init__(self, order: RecordOrder, lines: UserLines) -> None:
        self.order = order
        self.lines = lines
        self.tape = TapeWriter(order, lines)
        self.values = KnownValues()
        self.tries = LaunchCollection()
        self.definitions = KernelDefinitions()
        self.triton_changes = TritonChanges()
        self.muted = 0
        """While above 0, ops are not written, as a coarse op represents them."""
        self.draws = 0
        """The number of random ops so far."""
        self.draws_inputs = False
        """True if `random` or NumPy drew numbers while inputs were made."""
        self.refusal: NotRecordable | None = None
        self.attempts: list[SandboxAttempt] = []
        """Its attempts to reach outside of the sandbox."""

    @contextmanager
    def silence(self) -> Iterator[None]:
        """Write no ops in the block."""
        self.muted += 1
        try:
            yield
        finally:
            self.muted -= 1

    def refuse(self, reason: str, detail: str = "") -> NoReturn:
        """Raise `NotRecordable`. The first refusal counts, even if the program catches it."""
        raise self.noted(NotRecordable(reason, detail))

    def noted(self, refusal: NotRecordable) -> NotRecordable:
        """Return the first refusal, with the line where it happened."""
        if self.refusal is None:
            refusal.place = refusal.place or self.lines.innermost()
            self.refusal = refusal
        return self.refusal


_current: list[Recording] = []


def current() -> Recording | None:
    """Return the current recording, None if nothing is recorded."""
    return _current[-1] if _current else None


@contextmanager
def as_current(recording: Recording) -> Iterator[None]:
    """Make `recording` the current one in the block."""
    _current.append(recording)
    try:
        yield
    finally:
        _current.remove(recording)


def refused(reason: str, detail: str = "") -> NoReturn:
    """Refuse the program of the current recording."""
    recording = current()
    if recording is None:
        raise NotRecordable(reason, detail)
    recording.refuse(reason, detail)
