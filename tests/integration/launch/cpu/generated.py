"""Generates TTIR kernels whose programs branch, loop and return in different ways.

Each program accesses only its own `AREA` elements, so it does not matter which of them run
together. Scalars from the program id and from memory decide the control flow.
"""

from __future__ import annotations

import random

AREA = 2048
TENSOR, POINTER, NUMBER = "tensor<8xi32>", "!tt.ptr<i32>", "i32"
POINTERS = "tensor<8x!tt.ptr<i32>>"
_BINARY = ("addi", "subi", "muli", "xori", "andi", "ori", "divsi", "remsi", "minsi", "maxui")
_PREDICATES = ("eq", "ne", "slt", "sge", "ult", "ugt")


class Writer:
    """Writes one kernel; `values` are the available names by type."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._lines: list[str] = []
        self._count = 0
        self._loops = 0

    def kernel(self) -> str:
        """Return a module with a helper that returns early, and a kernel that calls it."""
        helper = self._function(
            "private", "helper", "%a: i32, %b: i32", NUMBER, {NUMBER: ["%a", "%b"]}
        )
        body = self._function("public", "k", "%p: !tt.ptr<i32>, %n: i32", "", {NUMBER: ["%n"]})
        return f"module {{\n{helper}\n{body}\n}}"

    def _function(
        self, visibility: str, name: str, parameters: str, result: str, known: dict[str, list[str]]
    ) -> str:
        self._lines, self._loops = [], 0
        values = {NUMBER: list(known[NUMBER]), TENSOR: [], POINTER: [], "i1": []}
        for number in (0, 1, 3, 7, 63):
            values[NUMBER].append(self._let(f"arith.constant {number} : i32"))
        self._zero, self._one, self._three, self._seven, self._most = values[NUMBER][-5:]
        is_kernel = visibility == "public"
        if is_kernel:
            self._begin(values)
        values["i1"].append(self._compared(values))
        for _ in range(self._random.randint(1, 3)):
            self._statements(values, 4, 0, is_kernel)
            if self._random.random() < 0.5:
                self._early_return(values, result)
            elif self._random.random() < 0.5:
                self._meeting(values, is_kernel)
        self._statements(values, 3, 0, is_kernel)
        if is_kernel:
            self._say(f"tt.store {values[POINTER][0]}, {self._pick(values, NUMBER)} : !tt.ptr<i32>")
            self._store(values)
        self._say(f"tt.return {self._pick(values, NUMBER)} : i32" if result else "tt.return")
        arrow = f" -> {result}" if result else ""
        lines = "\n".join(self._lines)
        return f"tt.func {visibility} @{name}({parameters}){arrow} {{\n{lines}\n}}"

    def _begin(self, values: dict[str, list[str]]) -> None:
        pid = self._let("tt.get_program_id x : i32")
        area = self._let(f"arith.constant {AREA} : i32")
        start = self._let(f"arith.muli {pid}, {area} : i32")
        pointer = self._let(f"tt.addptr %p, {start} : !tt.ptr<i32>, i32")
        other = self._let(f"tt.addptr {pointer}, {self._most} : !tt.ptr<i32>, i32")
        values[POINTER] += [pointer, other]
        values[NUMBER] += [pid, self._let(f"tt.load {other} : !tt.ptr<i32>")]
        lanes = self._let("tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>")
        values[TENSOR] += [lanes, self._let(f"tt.splat {pid} : i32 -> tensor<8xi32>")]

    def _statements(
        self, values: dict[str, list[str]], count: int, depth: int, is_kernel: bool
    ) -> None:
        kinds = [self._scalar, self._scalar, self._decision]
        if is_kernel:
            kinds += [self._tensor, self._tensor, self._load, self._store, self._sum]
        if is_kernel:
            kinds += [self._call]
        if depth < 3:
            kinds += [self._if, self._if, self._for, self._while]
        for _ in range(self._random.randint(1, count)):
            kind = self._random.choice(kinds)
            if kind in (self._if, self._for, self._while):
                kind(values, depth, is_kernel)
            else:
                kind(values)

    def _scalar(self, values: dict[str, list[str]]) -> None:
        a, b = self._pick(values, NUMBER), self._pick(values, NUMBER)
        name = self._random.choice(_BINARY)
        if name in ("divsi", "remsi"):
            b = self._let(f"arith.ori {b}, {self._one} : i32")
        values[NUMBER].append(self._let(f"arith.{name} {a}, {b} : i32"))
        if self._random.random() < 0.2:
            values[NUMBER].append(self._let(f"arith.extsi {self._pick(values, 'i1')} : i1 to i32"))

    def _tensor(self, values: dict[str, list[str]]) -> None:
        a, b = self._pick(values, TENSOR), self._pick(values, TENSOR)
        if self._random.random() < 0.5:
            b = self._let(f"tt.splat {self._pick(values, NUMBER)} : i32 -> {TENSOR}")
        name = self._random.choice(_BINARY[:6])
        values[TENSOR].append(self._let(f"arith.{name} {a}, {b} : {TENSOR}"))
        if self._random.random() < 0.3:
            mask = self._let(f"arith.cmpi slt, {a}, {b} : {TENSOR}")
            made = self._let(
                f"arith.select {mask}, {a}, {values[TENSOR][-1]} : tensor<8xi1>, {TENSOR}"
            )
            values[TENSOR].append(made)

    def _decision(self, values: dict[str, list[str]]) -> None:
        values["i1"].append(self._compared(values))
        condition = self._pick(values, "i1")
        kind = self._random.choice([NUMBER, TENSOR, POINTER] if values[POINTER] else [NUMBER])
        if kind == TENSOR:
            values[TENSOR].append(self._chosen(condition, values, TENSOR))
        else:
            values[kind].append(self._chosen(condition, values, kind))

    def _chosen(self, condition: str, values: dict[str, list[str]], kind: str) -> str:
        a, b = self._pick(values, kind), self._pick(values, kind)
        return self._let(f"arith.select {condition}, {a}, {b} : {kind}")

    def _compared(self, values: dict[str, list[str]]) -> str:
        a, b = self._pick(values, NUMBER), self._pick(values, NUMBER)
        if self._random.random() < 0.7:  # a small number, so that programs differ
            a = self._let(f"arith.andi {a}, {self._three} : i32")
            b = self._let(f"arith.andi {b}, {self._three} : i32")
        return self._let(f"arith.cmpi {self._random.choice(_PREDICATES)}, {a}, {b} : i32")

    def _places(self, values: dict[str, list[str]]) -> str:
        most = self._let(f"tt.splat {self._most} : i32 -> {TENSOR}")
        index = self._let(f"arith.andi {self._pick(values, TENSOR)}, {most} : {TENSOR}")
        pointer = self._let(f"tt.splat {self._pick(values, POINTER)} : {POINTER} -> {POINTERS}")
        return self._let(f"tt.addptr {pointer}, {index} : {POINTERS}, {TENSOR}")

    def _load(self, values: dict[str, list[str]]) -> None:
        places = self._places(values)
        values[TENSOR].append(self._let(f"tt.load {places} : {POINTERS}"))
        values[NUMBER].append(self._let(f"tt.load {self._pick(values, POINTER)} : {POINTER}"))

    def _store(self, values: dict[str, list[str]]) -> None:
        places, value = self._places(values), self._pick(values, TENSOR)
        if self._random.random() < 0.5:
            self._say(f"tt.store {places}, {value} : {POINTERS}")
            return
        mask = self._let(f"arith.cmpi slt, {value}, {self._pick(values, TENSOR)} : {TENSOR}")
        self._say(f"tt.store {places}, {value}, {mask} : {POINTERS}")

    def _sum(self, values: dict[str, list[str]]) -> None:
        made = self._name()
        self._say(
            f'{made} = "tt.reduce"({self._pick(values, TENSOR)}) <{{axis = 0 : i32}}> ({{\n'
            "^bb0(%u: i32, %v: i32):\n%w = arith.addi %u, %v : i32\n"
            f"tt.reduce.return %w : i32\n}}) : ({TENSOR}) -> i32"
        )
        values[NUMBER].append(made)

    def _call(self, values: dict[str, list[str]]) -> None:
        a, b = self._pick(values, NUMBER), self._pick(values, NUMBER)
        values[NUMBER].append(self._let(f"tt.call @helper({a}, {b}) : (i32, i32) -> i32"))

    def _if(self, values: dict[str, list[str]], depth: int, is_kernel: bool) -> None:
        kinds = self._carried(values)
        made, condition = self._name(), self._pick(values, "i1")
        arrow = f" -> ({', '.join(kinds)})" if kinds else ""
        self._say(f"{made + f':{len(kinds)} = ' if kinds else ''}scf.if {condition}{arrow} {{")
        for side in range(2 if kinds or self._random.random() < 0.5 else 1):
            if side:
                self._say("} else {")
            inner = {kind: list(names) for kind, names in values.items()}
            self._statements(inner, 2, depth + 1, is_kernel)
            self._yield("scf.yield", [self._last(inner, kind) for kind in kinds], kinds)
        self._say("}")
        self._results(values, made, kinds)

    def _for(self, values: dict[str, list[str]], depth: int, is_kernel: bool) -> None:
        if self._loops >= 5:
            return
        self._loops += 1
        kinds = self._carried(values)
        end = self._let(f"arith.andi {self._pick(values, NUMBER)}, {self._seven} : i32")
        if self._random.random() < 0.3:
            end = self._three
        made, number = self._name(), self._name()
        names = [self._name() for _ in kinds]
        first = [self._pick(values, kind) for kind in kinds]
        pairs = ", ".join(f"{a} = {b}" for a, b in zip(names, first, strict=True))
        carried = f" iter_args({pairs}) -> ({', '.join(kinds)})" if kinds else ""
        left = f"{made}:{len(kinds)} = " if kinds else ""
        step = self._random.choice([self._one, self._three])
        self._say(f"{left}scf.for {number} = {self._zero} to {end} step {step}{carried} : i32 {{")
        inner = {kind: list(known) for kind, known in values.items()}
        inner[NUMBER].append(number)
        for kind, name in zip(kinds, names, strict=True):
            inner[kind].append(name)
        self._statements(inner, 2, depth + 1, is_kernel)
        self._yield("scf.yield", [self._moved(inner, kind) for kind in kinds], kinds)
        self._say("}")
        self._results(values, made, kinds)

    def _moved(self, inner: dict[str, list[str]], kind: str) -> str:
        """Return the variable that a loop carries; pointers move."""
        if kind != POINTER:
            return self._last(inner, kind)
        return self._let(f"tt.addptr {inner[POINTER][-1]}, {self._one} : {POINTER}, i32")

    def _while(self, values: dict[str, list[str]], depth: int, is_kernel: bool) -> None:
        if self._loops >= 5:
            return
        self._loops += 1
        most = self._let(f"arith.andi {self._pick(values, NUMBER)}, {self._seven} : i32")
        made, a, b, c, d, go = (self._name() for _ in range(6))
        start = self._pick(values, NUMBER)
        types = "(i32, i32) -> (i32, i32)"
        self._say(f"{made}:2 = scf.while ({a} = {self._zero}, {b} = {start}) : {types} {{")
        self._say(f"{go} = arith.cmpi slt, {a}, {most} : i32")
        twice = self._let(f"arith.addi {b}, {a} : i32")
        self._say(f"scf.condition({go}) {a}, {twice} : i32, i32")
        self._say(f"}} do {{\n^bb0({c}: i32, {d}: i32):")
        inner = {kind: list(known) for kind, known in values.items()}
        inner[NUMBER] += [c, d]
        self._statements(inner, 2, depth + 1, False)
        following = self._let(f"arith.addi {c}, {self._one} : i32")
        self._yield("scf.yield", [following, self._last(inner, NUMBER)], [NUMBER, NUMBER])
        self._say("}")
        self._results(values, made, [NUMBER, NUMBER])

    def _early_return(self, values: dict[str, list[str]], result: str) -> None:
        name = self._name()[1:]
        condition = self._compared(values)
        self._say(f"cf.cond_br {condition}, ^return{name}, ^next{name}\n^return{name}:")
        if values[POINTER]:
            self._say(f"tt.store {values[POINTER][0]}, {self._pick(values, NUMBER)} : !tt.ptr<i32>")
        self._say(f"tt.return {self._pick(values, NUMBER)} : i32" if result else "tt.return")
        self._say(f"^next{name}:")

    def _meeting(self, values: dict[str, list[str]], is_kernel: bool) -> None:
        """Write blocks that diverge and converge again, each with a value."""
        name = self._name()[1:]
        condition = self._compared(values)
        self._say(f"cf.cond_br {condition}, ^a{name}, ^b{name}({self._pick(values, NUMBER)} : i32)")
        self._say(f"^a{name}:")
        inner = {kind: list(known) for kind, known in values.items()}
        self._statements(inner, 2, 2, is_kernel)
        again = self._compared(inner)
        one, two = self._last(inner, NUMBER), self._pick(inner, NUMBER)
        self._say(f"cf.cond_br {again}, ^b{name}({one} : i32), ^c{name}({two} : i32)")
        argument, other = self._name(), self._name()
        self._say(f"^b{name}({argument}: i32):")
        inner = {kind: list(known) for kind, known in values.items()}
        inner[NUMBER].append(argument)
        self._statements(inner, 2, 2, is_kernel)
        self._say(f"cf.br ^c{name}({self._last(inner, NUMBER)} : i32)\n^c{name}({other}: i32):")
        values[NUMBER].append(other)

    def _carried(self, values: dict[str, list[str]]) -> list[str]:
        kinds = [NUMBER, TENSOR, POINTER] if values[POINTER] else [NUMBER]
        return [self._random.choice(kinds) for _ in range(self._random.randint(0, 3))]

    def _results(self, values: dict[str, list[str]], made: str, kinds: list[str]) -> None:
        for number, kind in enumerate(kinds):
            values[kind].append(f"{made}#{number}")

    def _yield(self, word: str, names: list[str], kinds: list[str]) -> None:
        self._say(f"{word} {', '.join(names)} : {', '.join(kinds)}" if kinds else word)

    def _last(self, values: dict[str, list[str]], kind: str) -> str:
        return values[kind][-1] if self._random.random() < 0.7 else self._pick(values, kind)

    def _pick(self, values: dict[str, list[str]], kind: str) -> str:
        known = values[kind]
        return self._random.choice(known[-4:] if self._random.random() < 0.6 else known)

    def _let(self, text: str) -> str:
        name = self._name()
        self._say(f"{name} = {text}")
        return name

    def _name(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def _say(self, line: str) -> None:
        self._lines.append(line)
