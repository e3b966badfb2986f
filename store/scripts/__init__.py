"""The server-side Lua scripts, one file each, and how they are loaded.

A script runs atomically and in one round trip. Names of keys come from `store.keys` as Lua locals,
and limits from `store.byte_limits`, so a script never spells one; most keys of the job protocol are
only known inside a script, which is why they are not passed as KEYS and why a Redis cluster is not
supported.

The first line of a script decides if it runs on a server whose memory is full. `#!lua` alone:
it is refused before it begins, since it would take memory. With `allow-oom` it runs, since jobs end
by it, or workers are known by it; with `no-writes` it reads.
"""

import re
from functools import cache
from hashlib import sha1
from importlib.resources import files
from typing import Final

from redis.asyncio import Redis
from redis.commands.core import AsyncScript

from store import byte_limits, keys

SHARED: Final = "lane"
NAMES: Final = sorted(
    name.removesuffix(".lua")
    for name in (file.name for file in files(__name__).iterdir())
    if name.endswith(".lua") and name != f"{SHARED}.lua"
)
"""The names of all scripts."""


def _names(script: str) -> str:
    """Return the constants that `script` uses as one line of Lua tables.

    `K` has those of `store.keys`, `L` those of `store.byte_limits`.
    """
    used = {table: set(re.findall(rf"\b{table}\.(\w+)", script)) for table in "KL"}
    names = [f'{name} = "{value}"' for name, value in vars(keys).items() if name in used["K"]]
    limits = [f"{name} = {value}" for name, value in vars(byte_limits).items() if name in used["L"]]
    return f"local K = {{{', '.join(names)}}} local L = {{{', '.join(limits)}}}\n"


@cache
def text(name: str, *, shared: str | None = None) -> str:
    """Return the full text of script `name`, behind the functions of the file `shared`."""
    folder = files(__name__)
    first_line, _, own = folder.joinpath(f"{name}.lua").read_text("utf-8").partition("\n")
    functions = folder.joinpath(f"{shared}.lua").read_text("utf-8") if shared else ""
    return "\n".join((first_line, _names(functions + own) + functions, own))


def load(redis: Redis, name: str, *, shared: str | None = None) -> AsyncScript:
    """Return script `name` bound to `redis`; a server that does not have it gets it."""
    return redis.register_script(text(name, shared=shared))


@cache
def unconfirmed() -> frozenset[str]:
    """Return the SHA-1 of each script after which no replica is waited for.

    They read, or note what was used when, which may be lost.
    """
    scripts = {name: (text(name), text(name, shared=SHARED)) for name in NAMES}
    return frozenset(
        sha1(script.encode(), usedforsecurity=False).hexdigest()
        for name, variants in scripts.items()
        for script in variants
        if name == "use" or "no-writes" in script.partition("\n")[0]
    )
