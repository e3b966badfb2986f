"""The functions of a module: their names, and those with data-dependent control flow."""

import builtins
import keyword
import re
from functools import cached_property

from compiler.ttir_to_numpy.ir import Operation, inside, unquoted

_MANGLED = re.compile(r"(_*.+?)__")
_NOT_OF_NAMES = re.compile(r"\W", re.ASCII)


_BUILTIN = frozenset(dir(builtins))


class Functions:
    """`reserved` are names that no function has, nor its values; symbols are as in MLIR: `@f`.

    The kernel keeps its own name even so, unless it is among those `never` to be had.
    """

    def __init__(
        self, module: Operation, reserved: frozenset[str], kernel: str, never: frozenset[str]
    ) -> None:
        functions = [o for o in module.regions[0][0].operations if o.name == "tt.func"]
        self.by_symbol = {f"@{operation.text('sym_name')}": operation for operation in functions}
        self.reserved = reserved | set(keyword.kwlist) | {"bytes"}
        self._not_of_helpers = self.reserved | _BUILTIN
        self._never = never
        self._names: dict[str, str] = {}
        self._kernel = f"@{kernel}"
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}
        for symbol, operation in sorted(
            self.by_symbol.items(), key=lambda item: item[0] != self._kernel
        ):
            self._names[symbol] = self._named(symbol, operation)

    def name_of(self, callee: str) -> str:
        """Return the name of the function that a call's `callee` names."""
        return self._names[self._symbol(callee)]

    def called(self, callee: str) -> Operation | None:
        """Return the function that a call's `callee` names; None without one, or without a body."""
        function = self.by_symbol.get(self._symbol(callee))
        return function if function is not None and function.regions else None

    def decides(self, callee: str) -> bool:
        """Return whether the function, or a callee, branches or loops."""
        return self._symbol(callee) in self._deciding

    def has(self, name: str) -> bool:
        """Return whether `name` is reserved, or that of a function."""
        return name in self.reserved or name in self._taken

    def in_circle(self) -> str | None:
        """Return the name of a function that calls itself, by way of others too, or None."""
        done: dict[str, bool] = {}
        pending = [(symbol, False) for symbol in self._calls]
        while pending:
            symbol, is_left = pending.pop()
            if is_left:
                done[symbol] = True
            elif symbol not in done:
                done[symbol] = False
                pending.append((symbol, True))
                for called in self._calls.get(symbol, ()):
                    if done.get(called) is False:
                        return self._names[called]
                    pending.append((called, False))
        return None

    @staticmethod
    def _symbol(callee: str) -> str:
        return "@" + unquoted(callee[1:]) if callee.startswith('@"') else callee

    def _named(self, symbol: str, operation: Operation) -> str:
        """Return a name like the user's: a helper's symbol holds its module and its types, too."""
        name = symbol[1:]
        if "private" in operation.attributes.get("sym_visibility", ""):
            module, _, name = name.rpartition(".")
            match = _MANGLED.match(name)
            name = match[1] if match else name
            name = f"tl_{name.strip('_')}" if module.startswith("triton.language") else name
        name = _NOT_OF_NAMES.sub("_", name)[:80]
        name = name if name and not name[0].isdigit() else f"f{name}"
        is_kernel = symbol == self._kernel
        taken = self._never if is_kernel else self._not_of_helpers
        wanted, number = name, self._next.get(name, 0)
        while name in taken or name in self._taken:
            number += 1
            name = f"{wanted}_{number}"
        self._next[wanted] = number
        self._taken.add(name)
        return name

    @cached_property
    def _calls(self) -> dict[str, dict[str, None]]:
        """The symbols that each function calls, in order."""
        return {
            symbol: {
                self._symbol(operation.attributes["callee"]): None
                for operation in inside(function)
                if operation.name == "tt.call"
            }
            for symbol, function in self.by_symbol.items()
        }

    @cached_property
    def _deciding(self) -> set[str]:
        callers: dict[str, set[str]] = {}
        for symbol, every in self._calls.items():
            for called in every:
                callers.setdefault(called, set()).add(symbol)
        pending = [
            symbol
            for symbol, function in self.by_symbol.items()
            if any(o.name.startswith("scf.") or o.name == "cf.cond_br" for o in inside(function))
        ]
        symbols = set[str]()
        while pending:
            symbol = pending.pop()
            if symbol not in symbols:
                symbols.add(symbol)
                pending += callers.get(symbol, ())
        return symbols
