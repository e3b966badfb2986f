"""One use of a module-level name, and what a statement binds and uses: what `names` reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

How = Literal[
    "load",
    "attribute",
    "item",
    "call",
    "launch",
    "argument",
    "store",
    "import",
    "local_import",
    "opaque",
]


@dataclass(frozen=True, slots=True)
class Mention:
    """One use of a module-level name.

    `load`: its value; `attribute`: `name.path`; `item`: `name.path[...]`; `call`:
    `name.path(...)`; `launch`: `name.path[...](...)`; `argument`: a value given to the launch of
    `path[0]`; `store`: something in it is assigned or deleted; `import`: the module `name` is
    imported; `local_import`: it is, under a name that the module does not have; `opaque`:
    `path[0]` says what cannot be followed. `sure` tells that it happens whenever the statement is
    run.
    """

    name: str
    how: How
    path: tuple[str, ...] = ()
    sure: bool = False


@dataclass
class Reading:
    """What a statement does to its module when it is run (`now`), and when called (`later`)."""

    binds: set[str] = field(default_factory=set)
    later_binds: set[str] = field(default_factory=set)
    now: list[Mention] = field(default_factory=list)
    later: list[Mention] = field(default_factory=list)
    raises: bool = False
    uses_own: bool = False
    """Whether a class body reads what it defines itself, such as a decorator of its methods."""
