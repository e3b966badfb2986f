"""Random kernels whose programs may meet in memory, and an oracle that enumerates every access."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

BUFFERS = ("y", "z")
MASKS = ("o >= 0", "o < {half}", "(o + p) % 2 == 1", "p % 2 == 0", "p != 1")
TICKET = "if tl.atomic_add(count, 1{sem}) == tl.num_programs(0) - 1:"


@dataclass(frozen=True)
class Statement:
    """An access of `lanes` lanes; a `barrier` touches nothing.

    `part` is 0 before the ticket is taken, 1 for the last program alone, and 2 after that.
    """

    kind: str
    buffer: str = "y"
    steps: tuple[int, int, int] = (0, 0, 0)
    mask: str = MASKS[0]
    part: int = 0


@dataclass(frozen=True)
class Access:
    """One lane's access to an element."""

    program: int
    statement: int
    lane: int
    kind: str
    part: int


@dataclass(frozen=True)
class Expected:
    """The kinds of conflicts: between programs, within one, and reads of another thread's write."""

    between: bool
    within: bool
    read_elsewhere: bool


@dataclass(frozen=True)
class RandomKernel:
    """A kernel of `statements`; `ticket` is the order of its ticket, None without one."""

    statements: tuple[Statement, ...]
    ticket: str | None
    elements: int
    lanes: int
    programs: int

    def source(self) -> str:
        """Return the kernel's text."""
        lines = [
            "import triton", "import triton.language as tl", "", "@triton.jit",
            "def k(y, z, count):",
            "    p = tl.program_id(0)", f"    o = tl.arange(0, {self.lanes})",
        ]  # fmt: skip
        for part in range(3):
            own = [(n, s) for n, s in enumerate(self.statements) if s.part == part]
            if part == 1 and self.ticket is not None:
                lines.append("    " + TICKET.format(sem=f", sem='{self.ticket}'"))
            depth = "        " if part == 1 else "    "
            lines += [depth + self._text(number, statement) for number, statement in own]
            if part == 1 and self.ticket is not None and not own:
                lines.append("        tl.store(count + 1, 1)")
        return "\n".join(lines) + "\n"

    def expected(self) -> Expected:
        """Return what any order of programs may show."""
        touched: dict[tuple[str, int], list[Access]] = {}
        for key, access in self._accesses():
            touched.setdefault(key, []).append(access)
        pairs = [pair for some in touched.values() for pair in combinations(some, 2)]
        return Expected(
            any(self._race(*pair) for pair in pairs),
            any(self._meet(*pair) and pair[1].kind != "load" for pair in pairs),
            any(
                self._meet(write, read)
                and read.kind == "load"
                and not _overwritten(write, read, some)
                for some in touched.values()
                for write, read in combinations(some, 2)
            ),
        )

    def _text(self, number: int, statement: Statement) -> str:
        if statement.kind == "barrier":
            return "tl.debug_barrier()"
        a, b, c = statement.steps
        place = f"{statement.buffer} + (p * {a} + o * {b} + {c}) % {self.elements}"
        mask = f"({statement.mask.format(half=self.lanes // 2)}) & (o >= 0)"
        value = f"p * 1000 + o + {100 * (number + 1)}"
        match statement.kind:
            case "store":
                return f"tl.store({place}, {value}, mask={mask})"
            case "load":
                return f"v{number} = tl.load({place}, mask={mask}, other=0)"
        return f"tl.atomic_add({place}, o + 1, mask={mask}, sem='{statement.kind}')"

    def _accesses(self) -> Iterator[tuple[tuple[str, int], Access]]:
        for program in range(self.programs):
            for number, statement in enumerate(self.statements):
                if statement.kind == "barrier":
                    continue
                a, b, c = statement.steps
                mask = compile(statement.mask.format(half=self.lanes // 2), "mask", "eval")
                for lane in range(self.lanes):
                    if eval(mask, {"p": program, "o": lane}):
                        element = (program * a + lane * b + c) % self.elements
                        access = Access(program, number, lane, statement.kind, statement.part)
                        yield (statement.buffer, element), access

    def _race(self, first: Access, second: Access) -> bool:
        """Return True if two programs make these accesses without an order."""
        if first.program == second.program or not _conflict(first, second):
            return False
        parts = {first.part, second.part}
        if parts == {1}:  # by one program only
            return False
        is_ordered = self.ticket == "acq_rel" and parts == {0, 1}
        return not is_ordered

    def _meet(self, first: Access, second: Access) -> bool:
        """Return True if two threads of one program make these accesses without an order."""
        if first.program != second.program or first.lane == second.lane:
            return False
        if first.kind == "load" or not _conflict(first, second):
            return False
        between = self.statements[first.statement : second.statement]
        # all threads get the ticket, which compiles to a barrier: that is a warning at most
        is_kept = self.ticket is not None and first.part == 0 < second.part
        return not is_kept and not any(
            one.kind == "barrier" and (one.part != 1 or 1 in {first.part, second.part})
            for one in between
        )


def _overwritten(write: Access, read: Access, some: list[Access]) -> bool:
    """Return True if the program writes the element again before it reads it."""
    return any(
        other.program == read.program
        and write.statement < other.statement < read.statement
        and other.kind != "load"
        for other in some
    )


def _conflict(first: Access, second: Access) -> bool:
    kinds = {first.kind, second.kind}
    return "store" in kinds or ("load" in kinds and kinds != {"load"})


def kernel_of(seed: int) -> RandomKernel:
    """Return the kernel of a seed; about half of them have no race."""
    draw = random.Random(seed)
    lanes, programs = draw.choice((4, 8)), draw.randint(1, 4)
    elements = draw.choice((lanes * 2, lanes * 4, lanes * 8))
    ticket = draw.choice((None, None, "acq_rel", "relaxed"))
    kinds = ["store", "load", "acq_rel", "relaxed", "store", "barrier"]
    statements = []
    is_tidy = draw.random() < 0.5
    for part in range(3):
        if part and ticket is None:
            break
        for _ in range(draw.randint(1 if not part else 0, 3 - part)):
            steps = draw.choice((0, 1, lanes, lanes)), draw.choice((0, 1, 1, 2)), draw.randint(0, 9)
            if is_tidy:
                steps = lanes, 1, draw.choice((0, 0, 0, 1))
            statements.append(
                Statement(draw.choice(kinds), draw.choice(BUFFERS), steps, draw.choice(MASKS), part)
            )
    return RandomKernel(tuple(statements), ticket, elements, lanes, programs)
