"""The server-side Lua scripts, one file each, and how they are loaded.

A script runs atomically and in one round trip. Names of keys come from `store.keys` as Lua locals,
so a script never spells one; most keys of the job protocol are only known inside a script, which is
why they are not passed as KEYS and why a Redis cluster is not supported.
"""

from importlib.resources import files

from redis.asyncio import Redis
from redis.commands.core import AsyncScript

from store import keys


def _names() -> str:
    """Return the constants of `store.keys` as one line of a Lua table, `K`."""
    names = {name: value for name, value in vars(keys).items() if name.isupper()}
    return "local K = {" + ", ".join(f'{n} = "{v}"' for n, v in names.items()) + "}\n"


def text(name: str, *, shared: str | None = None) -> str:
    """Return the full text of script `name`, behind the functions of the file `shared`."""
    folder = files(__name__)
    parts = [shared, name] if shared else [name]
    return _names() + "\n".join(folder.joinpath(f"{part}.lua").read_text("utf-8") for part in parts)


def load(redis: Redis, name: str, *, shared: str | None = None) -> AsyncScript:
    """Return script `name` bound to `redis`; a server that does not have it gets it."""
    return redis.register_script(text(name, shared=shared))
