"""The task `recheck`: runs a kernel at many launches that keep its contract, and watches it.

Up to 60 launches are small and 40 large; fewer where all accesses are often reached. Each is run in
64 bits, where an access that leaves its buffer or meets another program contradicts a proof; and as
it is, where an access that differs uses an integer that wrapped. What no launch reached is not
re-checked.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice

from compiler.messages.wire import Send
from compiler.ttir_to_numpy.ir import Operation
from launch.recheck.access_memory import (
    Event,
    Outside,
    WatchedBuffer,
    outside_of,
    sizes_of,
)
from launch.recheck.access_slice import KINDS, depends_on, in_text_order
from launch.recheck.buffer_contents import CHOICES, BufferContents
from launch.recheck.contract_values import (
    ContractText,
    LegalLaunch,
    UnreadContract,
    read_contract_text,
)
from launch.recheck.covered_accesses import STAND_INS, alike
from launch.recheck.kernel_form import KernelForms, NotRunnable, forms_of
from launch.recheck.kernel_launches import buffers_of, launch_search
from launch.recheck.launch_search import LaunchSearch, is_none
from launch.recheck.meetings import Batch, Meeting, meetings
from launch.recheck.recheck_messages import (
    AccessRecheck,
    CheckRecheck,
    RecheckOrder,
    RecheckReport,
)
from launch.recheck.recheck_pair import recheck_pair
from launch.recheck.sampled_programs import sampled_programs
from launch.recheck.wrapped_integers import WrappedIntegers

MAX_SMALL, MAX_LARGE = 60, 40
ENOUGH_LAUNCHES, ENOUGH_REACHED = 60, 40
"""Launches after which the runs end, if enough of them reached each access."""
MIN_RUNS = 24
"""Runs of a kernel of which few launches keep the contract, each with other values."""
MAX_SEARCHES = 350
"""Searches for a launch, of which some find none or a known one."""
MAX_CPU_S = 1.0
MAX_PROGRAMS, MAX_PROGRAMS_OF_RACES = 8, 32
MAX_TURNS = 40
"""Turns of all loops of one batch."""
MAX_LANES = 1 << 15
"""Lanes of the largest tensor, over all programs that run at once."""
_ANSWERS = {"bounds": "bounds", "overflow": "overflow", "races": "race"}


def recheck(order: RecheckOrder, body: bytes, _: Send) -> RecheckReport:
    """Run the kernel of an order."""
    started = time.process_time()
    size, until = order.kernel.ttir_bytes, started + MAX_CPU_S
    text = bytes(body[:size]).decode()
    try:
        if order.other is not None:
            texts = text, bytes(body[size:]).decode()
            compared = recheck_pair(order, order.other, texts, until)
            return RecheckReport(equivalent=compared, runs=compared.runs, ms=_ms_since(started))
        overflow = "overflow" in order.checks
        forms = forms_of(order.kernel, text, order.target, order.ir_bounds, overflow=overflow)
        contract = read_contract_text(order.kernel.contract)
    except (NotRunnable, UnreadContract) as refused:
        return RecheckReport(refused=str(refused), ms=_ms_since(started))
    search = launch_search(order, order.kernel, forms.types, forms.constants, contract)
    watch = _Watch(order, forms, contract, search)
    watch.run(until)
    return watch.report(_ms_since(started))


def _ms_since(started: float) -> float:
    return round((time.process_time() - started) * 1000, 3)


@dataclass
class _Watch:
    """The runs of one kernel, and what they showed of each access."""

    order: RecheckOrder
    forms: KernelForms
    contract: ContractText
    search: LaunchSearch
    runs: int = 0
    reached: Counter[int] = field(default_factory=Counter)
    broken: dict[tuple[int, str], CheckRecheck] = field(default_factory=dict)
    _of_counts: frozenset[int] = field(init=False)
    """Accesses that use counts: a proof of these holds whatever the integers are that it counts."""

    def __post_init__(self) -> None:
        function, accesses = self.forms.function, self.forms.accesses
        counts = [
            operation for operation in in_text_order(function) if operation.name == "tt.histogram"
        ]
        self._of_counts = frozenset(
            number
            for number, access in enumerate(accesses)
            if any(depends_on(function, access, count) for count in counts)
        )

    def run(self, until: float) -> None:
        """Run launches until there are enough, or the CPU time is over."""
        for launch in self._repeated(self._launches()):
            if time.process_time() > until:
                break
            self._run(launch, CHOICES[self.runs % len(CHOICES)])
            self.runs += 1
            if self.runs >= ENOUGH_LAUNCHES and self._is_reached_enough():
                break

    def _repeated(self, launches: Iterable[LegalLaunch]) -> Iterator[LegalLaunch]:
        """Yield launches, then few ones again, to run with other values in their buffers."""
        known: list[LegalLaunch] = []
        for launch in launches:
            known.append(launch)
            yield launch
        yield from islice(cycle(known), max(0, MIN_RUNS - len(known)))

    def _is_reached_enough(self) -> bool:
        numbers = range(len(self.forms.accesses))
        return all(self.reached[number] >= ENOUGH_REACHED for number in numbers)

    def _launches(self) -> Iterator[LegalLaunch]:
        left = {False: MAX_SMALL, True: MAX_LARGE}
        launches = self.search.launches(left)
        for _ in range(MAX_SEARCHES):
            is_large, launch = next(launches)
            if is_none(launch):
                continue
            left[is_large] -= 1
            yield launch
            if not any(left.values()):
                return

    def _run(self, launch: LegalLaunch, choice: str) -> None:
        contents = BufferContents(choice, launch.ranges, self.runs)  # type: ignore[arg-type]
        buffers = buffers_of(self.forms.types, launch)
        exact, machine = self.forms.exact, self.forms.as_it_is
        reached, batches, is_outside = set[int](), list[Batch](), False
        programs = self._programs(launch)
        for numbers in programs:
            ran = exact.run(launch, buffers, contents, numbers, MAX_TURNS)
            reached |= ran.reached
            is_outside = is_outside or self._is_new(ran.outside, "bounds")
            batches.append((ran.touches, numbers))
            if machine is not None:
                mine = machine.run(launch, buffers, contents, numbers, MAX_TURNS)
                forms = self.forms
                wrapped = WrappedIntegers((mine, ran), buffers, forms.function, forms.accesses)
                for access, message in wrapped.messages.items():
                    if access not in self._of_counts:
                        self._note(access, "overflow", message, launch, numbers[0])
        self.reached.update(reached)
        if is_outside or self._is_new(self._meetings(batches), "race"):
            batches = self._covered(launch, buffers, contents, programs)
            self._note_outside(launch, buffers, batches)
            self._note_meetings(launch, buffers, batches)

    def _covered(
        self,
        launch: LegalLaunch,
        buffers: list[WatchedBuffer],
        contents: BufferContents,
        programs: list[list[int]],
    ) -> list[Batch]:
        """Return what programs access whatever the integers are that a proof presupposes.

        Nothing as soon as too little is left to contradict a proof.
        """
        traces: list[list[list[Event]]] = [[] for _ in programs]
        batches = list[Batch]()
        for run in range(len(STAND_INS)):
            form = self.forms.with_stand_ins(run)
            for trace, numbers in zip(traces, programs, strict=True):
                trace.append(form.run(launch, buffers, contents, numbers, MAX_TURNS).trace)
            batches = [(alike(a), b) for a, b in zip(traces, programs, strict=True)]
            outside = (access for access, _, _ in _all_outside(buffers, batches))
            is_outside = self._is_new(outside, "bounds")
            if not is_outside and not self._is_new(self._meetings(batches), "race"):
                return []
        return batches

    def _is_new(self, accesses: Iterable[int], check: str) -> bool:
        return any((access, check) not in self.broken for access in accesses if access >= 0)

    def _programs(self, launch: LegalLaunch) -> list[list[int]]:
        """Return the programs to run, those together that run at once."""
        races = "races" in self.order.checks
        form = self.forms.exact
        sizes = {*launch.scalars.values(), *launch.sizes.values(), *self.search.numbers}
        at_once = max(1, MAX_LANES // form.largest_tile) if form.is_batchable else 1
        most = MAX_PROGRAMS_OF_RACES if races else MAX_PROGRAMS
        numbers = sampled_programs(launch.grid, sizes, most if races else min(most, 2 * at_once))
        return [numbers[first : first + at_once] for first in range(0, len(numbers), at_once)]

    def _note_outside(
        self, launch: LegalLaunch, buffers: list[WatchedBuffer], batches: list[Batch]
    ) -> None:
        for access, outside, program in _all_outside(buffers, batches):
            kind = KINDS[self.forms.accesses[access].name]
            where = f"{outside.buffer}[{outside.element:,}] of {outside.size:,} elements"
            message = f"{'reads' if kind == 'load' else 'writes'} {where}"
            self._note(access, "bounds", message, launch, program)

    def _meetings(self, batches: list[Batch]) -> Mapping[int, Meeting]:
        return meetings(batches, self.forms.accesses) if "races" in self.order.checks else {}

    def _note_meetings(
        self, launch: LegalLaunch, buffers: list[WatchedBuffer], batches: list[Batch]
    ) -> None:
        for access, met in self._meetings(batches).items():
            a, b = met.programs
            message = f"programs {a} and {b} use {buffers[met.buffer].name}[{met.element:,}]"
            self._note(access, "race", message, launch, a)

    def _note(
        self, access: int, check: str, message: str, launch: LegalLaunch, program: int
    ) -> None:
        if access >= 0 and (access, check) not in self.broken:
            sizes = {**launch.names(), "program": program}
            self.broken[access, check] = CheckRecheck(
                outcome="violated", message=message, sizes=sizes
            )

    def report(self, ms: float) -> RecheckReport:
        """Return what all runs showed."""
        return RecheckReport(
            accesses=[
                self._access(number, operation)
                for number, operation in enumerate(self.forms.accesses)
            ],
            runs=self.runs,
            ms=ms,
        )

    def _access(self, number: int, operation: Operation) -> AccessRecheck:
        place = operation.locations[0] if operation.locations else None
        agrees = CheckRecheck(outcome="agrees", runs=self.reached[number])
        return AccessRecheck(
            kind=KINDS[operation.name],  # type: ignore[arg-type]
            line=None if place is None else place.line,
            column=None if place is None else place.column,
            checks={
                answer: self.broken.get((number, answer), agrees)
                for check, answer in _ANSWERS.items()
                if check in self.order.checks
            },
        )


def _all_outside(
    buffers: list[WatchedBuffer], batches: Sequence[Batch]
) -> Iterator[tuple[int, Outside, int]]:
    """Yield each access that leaves its buffer, where, and in which program."""
    sizes = sizes_of(buffers)
    for touches, numbers in batches:
        for touch in touches:
            outside = outside_of(touch, buffers, sizes)
            if outside is not None:
                yield touch.access, outside, numbers[min(outside.program, len(numbers) - 1)]
