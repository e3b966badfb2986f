"""Random kernels of a larger language than `random_kernels`, for the re-checks to contradict.

They have a second buffer, descriptors, atomic additions, tuples (of arguments, too), `while`
loops, loops that count down, early returns, offsets that are joined bit by bit, and indices that
are flipped, gathered (also in a loop, at its turn, from a tile before it), joined into one tile or
counted.
"""

import random
from typing import Any

from tests.proofs.random_kernels import (
    BLOCKS,
    EXTENTS,
    LIMITS,
    SCALARS,
    SMALL_NUMBERS,
    RandomKernel,
    Writer,
)

KINDS = (("i32",), ("i32",), ("i32", "i64"))
JOINED = ("({a} | {b})", "({a} ^ {b})", "({a} & {b})", "({a} * B | {b} % B)", "({a} ^ ({b} & 3))")
MOVED = (
    "tl.flip({a}, 0)", "tl.flip({a}, 0)", "tl.gather({a}, r, 0)", "tl.gather({a}, B - 1 - r, 0)",
    "tl.gather({a}, tl.minimum(tl.maximum({b}, 0), B - 1).to(tl.int32), 0)",
)  # fmt: skip
AT_TURN = ("{i} % B + tl.zeros_like(r)", "(r + {i}) % B", "r ^ ({i} & (B - 1))", "(r * {i}) % B")
OF_OWN_SHAPE = ("tl.cat({a}, {b}, can_reorder=True)", "tl.histogram(({a} & 15).to(tl.int32), 16)")
STEPS_DOWN = ("-1", "-1", "-2", "-B", "-m")


class LargerWriter(Writer):
    """Writes one random kernel of the larger language."""

    def kernel(self) -> RandomKernel:
        """Return the kernel with a contract."""
        pick = self._drawn
        has_tuple = pick.random() < 0.15
        self._integers += ["q[0]", "q[1]"] * has_tuple
        ways = [
            self._name, self._name, self._access, self._loop, self._branch, self._loaded,
            self._descriptor, self._while, self._loop_down, self._return, self._joined, self._pair,
            self._moved, self._of_own_shape, self._gathered_by_turn,
        ]  # fmt: skip
        for _ in range(pick.randint(1, 5)):
            pick.choice(ways)()
        self._access()
        further = ", q" * has_tuple
        body = f"def kernel(x_ptr, y_ptr, i_ptr, n, m, s, t{further}, B: tl.constexpr):\n"
        body += "\n".join(
            ["    pid = tl.program_id(0)", "    r = tl.arange(0, B)", *self._lines, ""]
        )
        kinds = pick.choice(KINDS)
        signature: dict[str, Any] = {
            "x_ptr": "*fp32",
            "y_ptr": pick.choice(("*fp32", "*i32", "*fp16")),
        }
        signature |= {"i_ptr": pick.choice(("*i32", "*i64", "*i8", "*u8"))}
        signature |= {name: pick.choice(kinds) for name in (*SCALARS, "t")}
        signature |= {"q": ("i32", pick.choice(kinds))} if has_tuple else {}
        constants = {"B": pick.choice(BLOCKS)}
        contract = self._contract() + f"y_ptr: {pick.choice(EXTENTS)}\n"
        contract += pick.choice(("", "t <= n\n", "t < m\n", "t = n * m\n", "any t\n"))
        return RandomKernel(body, signature, constants, contract, pick.choice(LIMITS))

    def _access(self) -> None:
        pick, index = self._drawn, f"at{len(self._lines)}"
        buffer = pick.choice(("x_ptr", "x_ptr", "y_ptr"))
        self._say(f"{index} = {self._integer()} + tl.zeros_like(r)")
        masked = f", mask={self._mask(index)}" if pick.random() < 0.85 else ""
        at = f"{buffer} + {index}"
        if buffer == "x_ptr" and pick.random() < 0.15:
            self._say(f"tl.atomic_add({at}, 1.0{masked})")
            return
        stored = f"tl.load({at}{masked})" if pick.random() < 0.3 else "1"
        self._say(f"tl.store({at}, {stored}{masked})")

    def _descriptor(self) -> None:
        pick, name = self._drawn, f"d{len(self._lines)}"
        rows, columns = pick.choice(SCALARS), pick.choice(SCALARS)
        stride = pick.choice((columns, columns, "B", *SCALARS))
        shape = f"[{rows}, {columns}], [{stride}, 1], [2, 4]"
        self._say(f"{name} = tl.make_tensor_descriptor(x_ptr, {shape})")
        start = f"[{self._scalar()}, {self._scalar()}]"
        if pick.random() < 0.5:
            self._say(f"{name}.store({start}, {name}.load({start}))")
        else:
            self._say(f"{name}.store({start}, tl.zeros((2, 4), tl.float32))")

    def _while(self) -> None:
        pick, name = self._drawn, f"w{len(self._lines)}"
        self._say(f"{name} = {pick.choice(('0', '1', 'pid', 'n - n', 's'))}")
        self._say(f"while {name} {pick.choice(('<', '<', '<=', '!='))} {self._scalar()}:")
        self._inside([name, name], f"{name} += {pick.choice(('1', '1', 'B', 'm', '3'))}")
        self._integers.append(name)

    def _loop_down(self) -> None:
        pick, counter = self._drawn, f"i{len(self._lines)}"
        high, low = pick.choice((*SCALARS, "n - 1", "pid", "t")), pick.choice(("-1", "0", "m", "1"))
        carried = f"c{len(self._lines)}"
        self._say(f"{carried} = {pick.choice(('r', 'r * 1', 'pid * B + r', 'r + n'))}")
        self._say(f"for {counter} in range({high}, {low}, {pick.choice(STEPS_DOWN)}):")
        changed = f"{carried} += {pick.choice(('-B', '-1', '1', counter, 'm', '-s'))}"
        self._inside([counter, counter, carried], changed)
        self._integers.append(carried)

    def _gathered_by_turn(self) -> None:
        """Access what a loop gathers, each turn at other indices, from a tile before the loop."""
        pick, number = self._drawn, len(self._lines)
        before, counter, gathered = f"b{number}", f"i{number}", f"g{number}"
        self._say(f"{before} = {self._tile()}")
        self._say(
            f"for {counter} in range({pick.choice(('0', '0', '1', 'pid'))}, {self._scalar()}):"
        )
        indices = pick.choice(AT_TURN).format(i=counter)
        first = f"{gathered} = tl.gather({before}, ({indices}).to(tl.int32), 0)"
        self._inside([*[gathered] * 6, counter], first=first)

    def _inside(self, names: list[str], last: str = "", first: str = "") -> None:
        """Write an access in a region that has further names, and its first and last line."""
        kept, self._integers = self._integers, [*self._integers, *names]
        self._indent += "    "
        if first:
            self._say(first)
        self._access()
        if last:
            self._say(last)
        self._indent, self._integers = self._indent[4:], list(kept)

    def _return(self) -> None:
        self._say(f"if {self._comparison(self._scalar(), self._scalar())}:")
        self._say("    return")

    def _joined(self) -> None:
        name = f"v{len(self._lines)}"
        joined = self._drawn.choice(JOINED).format(a=self._integer(1), b=self._integer(1))
        self._say(f"{name} = {joined}")
        self._integers += [name] * 3

    def _moved(self) -> None:
        name = f"v{len(self._lines)}"
        a, b = self._tile(), self._tile()
        self._say(f"{name} = {self._drawn.choice(MOVED).format(a=a, b=b)}")
        self._integers += [name] * 3

    def _of_own_shape(self) -> None:
        """Store at indices that no other tile may be combined with."""
        name, end = f"o{len(self._lines)}", self._scalar()
        made = self._drawn.choice(OF_OWN_SHAPE).format(a=self._tile(), b=self._tile())
        self._say(f"{name} = {made}")
        masked = self._drawn.choice(("", f", mask=({name} >= 0) & ({name} < {end})"))
        self._say(f"tl.store(x_ptr + {name}, 1.0{masked})")

    def _tile(self) -> str:
        return f"({self._integer(1)} + tl.zeros_like(r))"

    def _pair(self) -> None:
        name = f"p{len(self._lines)}"
        self._say(f"{name} = ({self._integer(1)}, {self._drawn.choice((*SCALARS, 't', 'pid'))})")
        self._integers += [f"{name}[0]", f"{name}[0]", f"{name}[1]"]

    def _scalar(self) -> str:
        return self._drawn.choice((super()._scalar(), "t", str(self._drawn.choice(SMALL_NUMBERS))))


def larger_random_kernel(drawn: random.Random) -> RandomKernel:
    """Return a kernel that may compile, with its contract."""
    return LargerWriter(drawn).kernel()
