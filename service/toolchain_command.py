"""The command `tritond toolchain`: what a fleet compiles with. Only reads and writes settings."""

import argparse
import asyncio
import sys

from compiler.toolchain import Toolchain
from service.settings import ServiceSettings
from store.connection import connect
from store.workers import Toolchains, Workers


def add_toolchain_commands(parser: argparse.ArgumentParser) -> None:
    """Add list, default and forget."""
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="those known; * is the default, - has no worker")
    listing.set_defaults(run=lambda _: asyncio.run(_list()))
    default = commands.add_parser("default", help="compile with it when a request names no Triton")
    default.add_argument("id")
    default.set_defaults(run=lambda arguments: asyncio.run(_set_default(arguments.id)))
    forget = commands.add_parser("forget", help="offer it no more")
    forget.add_argument("id")
    forget.set_defaults(run=lambda arguments: asyncio.run(_forget(arguments.id)))


async def _list() -> None:
    async with connect(ServiceSettings().redis_url) as redis:
        toolchains, default = Toolchains(redis), await Toolchains(redis).default()
        workers = await Workers(redis).list()
        living = {name for worker in workers for name in worker.served}
        for name, description in (await toolchains.list()).items():
            mark = ("*" if name == default else " ") + (" " if name in living else "-")
            triton = Toolchain.model_validate_json(description).triton
            print(f"{mark} {name}  Triton {triton}")  # noqa: T201


async def _set_default(name: str) -> None:
    async with connect(ServiceSettings().redis_url) as redis:
        if not await Toolchains(redis).set_default(name):
            sys.exit(_unknown(name))


async def _forget(name: str) -> None:
    async with connect(ServiceSettings().redis_url) as redis:
        toolchains = Toolchains(redis)
        if name == await toolchains.default():
            sys.exit(f"tritond: {name} is the default; make another one the default first")
        if not await toolchains.forget(name):
            sys.exit(_unknown(name))


def _unknown(name: str) -> str:
    return f"tritond: there is no toolchain {name}; `tritond toolchain list` shows those there are"
