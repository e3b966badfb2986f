"""The task `recheck`: runs a kernel at many launches that keep its contract, and watches it.

Up to 60 launches are small and 40 large. Each is run in 64 bits, where an access that leaves its
buffer or meets another program contradicts a proof; and as it is, where an access that differs uses
an integer that wrapped. What no launch reached is not re-checked.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from compiler.messages.wire import Send
from compiler.ttir_to_numpy.ir import Operation
from compiler.ttir_to_numpy.mlir_types import TRITON_NAMES, element_of, pointee_of
from compiler.ttir_to_numpy.runtime.launching import dtype_named
from launch.recheck.access_memory import Buffer
from launch.recheck.access_slice import KINDS
from launch.recheck.buffer_contents import CHOICES, BufferContents
from launch.recheck.contract_values import (
    ContractText,
    LegalLaunch,
    UnreadContract,
    read_contract_text,
)
from launch.recheck.kernel_form import KernelForms, Launched, NotModelled, forms_of
from launch.recheck.launch_search import LaunchSearch, ScalarType, is_none
from launch.recheck.meetings import Batch, meetings
from launch.recheck.recheck_messages import (
    AccessRecheck,
    CheckRecheck,
    RecheckedKernel,
    RecheckOrder,
    RecheckReport,
)
from launch.recheck.sampled_programs import sampled_programs
from launch.recheck.wrapped_integers import wrapped_accesses

MOST_SMALL, MOST_LARGE = 60, 40
MOST_SEARCHES = 250
"""Searches for a launch, of which some find none or a known one."""
MOST_CPU_S = 1.0
MOST_PROGRAMS, MOST_PROGRAMS_OF_RACES = 8, 32
MOST_TURNS = 40
"""Turns of all loops of one batch."""
MOST_LANES = 1 << 15
"""Lanes of the largest tensor, over all programs that run at once."""
_ANSWERS = {"bounds": "bounds", "overflow": "overflow", "races": "race"}


def recheck(order: RecheckOrder, body: bytes, _: Send) -> RecheckReport:
    """Run the kernel of an order."""
    started = time.process_time()
    text = bytes(body[: order.kernel.ttir_bytes]).decode()
    try:
        overflow = "overflow" in order.checks
        forms = forms_of(order.kernel, text, order.target, order.ir_bounds, overflow=overflow)
        contract = read_contract_text(order.kernel.contract)
    except (NotModelled, UnreadContract) as refused:
        return RecheckReport(refused=str(refused), ms=_ms_since(started))
    watch = _Watch(order, forms, contract, launch_search(order, order.kernel, forms, contract))
    watch.run(started + MOST_CPU_S)
    return watch.report(_ms_since(started))


def launch_search(
    order: RecheckOrder, kernel: RecheckedKernel, forms: KernelForms, contract: ContractText
) -> LaunchSearch:
    """Return the search for launches of a kernel."""
    scalars = {
        name: ScalarType(int(kind[1:]))
        for name, kind in forms.types.items()
        if kind[:1] == "i" and kind[1:].isdigit() and kind != "i1"
    }
    element_bits = {}
    for name, kind in forms.types.items():
        pointee = pointee_of(kind)
        if pointee is not None:
            is_integer = pointee[:1] == "i" and pointee[1:].isdigit()
            element_bits[name] = int(pointee[1:]) if is_integer else 0
    numbers = {*contract.numbers, *kernel.constants.values(), *forms.constants}
    return LaunchSearch(
        contract,
        scalars,
        element_bits,
        kernel.constants,
        frozenset(number for number in numbers if 1 < number < 1 << 32),
        order.most_size,
        order.most_elements,
    )


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

    def run(self, until: float) -> None:
        """Run launches until there are enough, or the CPU time is over."""
        for launch in self._launches():
            if time.process_time() > until:
                break
            self._run(launch, CHOICES[self.runs % len(CHOICES)])
            self.runs += 1

    def _launches(self) -> Iterator[LegalLaunch]:
        left = {False: MOST_SMALL, True: MOST_LARGE}
        launches = self.search.launches()
        for _ in range(MOST_SEARCHES):
            is_large, launch = next(launches)
            if is_none(launch) or not left[is_large]:
                continue
            left[is_large] -= 1
            yield launch
            if not any(left.values()):
                return

    def _run(self, launch: LegalLaunch, choice: str) -> None:
        contents = BufferContents(choice, launch.ranges)  # type: ignore[arg-type]
        buffers = buffers_of(self.forms, launch)
        exact, machine = self.forms.exact, self.forms.as_it_is
        reached, batches = set[int](), list[Batch]()
        for numbers in self._batches(launch):
            ran = exact.run(launch, buffers, contents, numbers, MOST_TURNS)
            reached |= ran.reached
            self._note_outside(launch, ran, numbers)
            batches.append((ran.touches, numbers))
            if machine is not None:
                mine = machine.run(launch, buffers, contents, numbers, MOST_TURNS)
                for access, message in wrapped_accesses(mine.touches, ran.touches, buffers).items():
                    self._note(access, "overflow", message, launch, numbers[0])
        self.reached.update(reached)
        if "races" in self.order.checks:
            self._note_meetings(launch, buffers, batches)

    def _batches(self, launch: LegalLaunch) -> list[list[int]]:
        """Return the programs to run, those together that run at once."""
        races = "races" in self.order.checks
        form = self.forms.exact
        sizes = {*launch.scalars.values(), *launch.sizes.values(), *self.search.numbers}
        at_once = max(1, MOST_LANES // form.largest_tile) if form.is_batchable else 1
        most = MOST_PROGRAMS_OF_RACES if races else MOST_PROGRAMS
        numbers = sampled_programs(launch.grid, sizes, most if races else min(most, 2 * at_once))
        return [numbers[first : first + at_once] for first in range(0, len(numbers), at_once)]

    def _note_outside(self, launch: LegalLaunch, ran: Launched, numbers: list[int]) -> None:
        for access, outside in ran.outside.items():
            verb = "reads" if KINDS[self.forms.accesses[access].name] == "load" else "writes"
            where = f"{outside.buffer}[{outside.element:,}] of {outside.size:,} elements"
            program = numbers[min(outside.program, len(numbers) - 1)]
            self._note(access, "bounds", f"{verb} {where}", launch, program)

    def _note_meetings(
        self, launch: LegalLaunch, buffers: list[Buffer], batches: list[Batch]
    ) -> None:
        for access, met in meetings(batches, self.forms.accesses).items():
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
            accesses=[self._access(number, one) for number, one in enumerate(self.forms.accesses)],
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


def buffers_of(forms: KernelForms, launch: LegalLaunch) -> list[Buffer]:
    """Return the buffers of a launch; one whose extent the contract does not have is endless."""
    found = []
    for name, kind in forms.types.items():
        pointee = pointee_of(kind)
        if pointee is not None:
            width = 8 if pointee_of(pointee) is not None else _width_of(element_of(pointee))
            found.append(Buffer(name, launch.extents.get(name, 1 << 62), width))
    return found


def _width_of(element: str) -> int:
    return int(dtype_named(TRITON_NAMES[element]).itemsize)
