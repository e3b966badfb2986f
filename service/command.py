"""The command `tritond`: up, api, worker, key, toolchain and blobs.

It starts processes, edits API keys and the default toolchain in the store, and sweeps the bucket.
Nothing else is decided here.
"""

import argparse
import asyncio
import logging
import os
import sys
from functools import partial
from pathlib import Path

from pydantic import ValidationError

from compiler.toolchain import Toolchain
from jobs.logs import log_as
from service import VERSION
from service.caller import SCOPES
from service.settings import ServiceSettings, wrong_settings
from service.up import PartEnded, up
from store.api_keys import ApiKey, ApiKeys
from store.blobs import Blobs
from store.bucket import Bucket
from store.bucket_sweep import delete_forgotten, find_forgotten
from store.connection import StoreClient, connect
from store.errors import StoreError
from store.workers import Toolchains, Workers

logger = logging.getLogger("tritond")
LIMITS = ("requests_per_s", "gpu_seconds_per_hour")


def main() -> None:
    """Run the command. Exit status: 0 after a signal to stop, 1 on failure, 2 on wrong usage."""
    try:
        arguments = _parser().parse_args()
        arguments.run(arguments)
    except ValidationError as error:
        sys.exit(f"tritond: {wrong_settings(error)}")
    except (StoreError, PartEnded) as error:
        sys.exit(f"tritond: {error}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tritond", description="Compile, cache and run Triton GPU kernels over HTTP."
    )
    parser.add_argument("--version", action="version", version=f"tritond {VERSION}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    one = commands.add_parser("up", help="run everything on this machine, with an embedded Valkey")
    _add_address(one)
    one.add_argument("--data", type=Path, default=Path(".tritond"), help="default: ./.tritond")
    one.set_defaults(run=_up)
    api = commands.add_parser("api", help="run the HTTP service, on TRITOND_REDIS_URL")
    _add_address(api)
    api.set_defaults(run=_api)
    worker = commands.add_parser(
        "worker", help="run a worker: compiles, launches on this machine's CPU and GPUs"
    )
    worker.set_defaults(run=_worker)
    _add_key_commands(commands.add_parser("key", help="manage API keys, on TRITOND_REDIS_URL"))
    toolchain = commands.add_parser("toolchain", help="manage toolchains, on TRITOND_REDIS_URL")
    _add_toolchain_commands(toolchain)
    blobs = commands.add_parser("blobs", help="manage large blobs, in TRITOND_BLOBS_URL")
    _add_blobs_commands(blobs)
    return parser


def _add_address(parser: argparse.ArgumentParser) -> None:
    settings = ServiceSettings()
    parser.add_argument("--host", default=settings.host, help=f"default: {settings.host}")
    parser.add_argument("--port", type=int, default=settings.port, help=f"default: {settings.port}")


def _add_key_commands(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    create = commands.add_parser("create", help="create a key and print its secret, once")
    create.add_argument("--name", type=_label, required=True)
    create.add_argument("--scope", action="append", choices=SCOPES, required=True)
    create.add_argument(
        "--namespace", type=_label, help="keys share a cache only within a namespace"
    )
    _add_limits(create)
    create.set_defaults(run=lambda arguments: asyncio.run(_create_key(arguments)))
    listing = commands.add_parser("list", help="list keys, without their secrets")
    listing.set_defaults(run=lambda _: asyncio.run(_list_keys()))
    update = commands.add_parser("update", help="change the limits of a key")
    update.add_argument("id")
    _add_limits(update)
    update.set_defaults(run=lambda arguments: asyncio.run(_update_key(arguments)))
    revoke = commands.add_parser("revoke", help="revoke a key")
    revoke.add_argument("id")
    revoke.set_defaults(run=lambda arguments: asyncio.run(_revoke_key(arguments.id)))


_MAX_LABEL_CHARS = 100


def _label(written: str) -> str:
    if not written.strip() or len(written) > _MAX_LABEL_CHARS or not written.isprintable():
        raise argparse.ArgumentTypeError(
            f"{written[:20]!r} is no name; write 1 to {_MAX_LABEL_CHARS} characters that can be "
            "printed, without line breaks"
        )
    return written


_NO_LIMIT = "none"
_LEAST, _MOST = 0.001, 1_000_000


def _add_limits(parser: argparse.ArgumentParser) -> None:
    for name, of in (("requests-per-s", "requests"), ("gpu-seconds-per-hour", "GPU time")):
        parser.add_argument(
            f"--{name}",
            type=_limit,
            metavar="N",
            help=f"limit of {of}, from {_LEAST} to {_MOST}; {_NO_LIMIT}: no limit "
            "(default: none, or as it is)",
        )


def _limit(written: str) -> float | str:
    if written == _NO_LIMIT:
        return written
    try:
        number = float(written)
    except ValueError:
        number = 0.0
    if not _LEAST <= number <= _MOST:
        raise argparse.ArgumentTypeError(
            f"{written!r} is no limit; write a number from {_LEAST} to {_MOST}, or {_NO_LIMIT}"
        )
    return number


def _limits_of(arguments: argparse.Namespace) -> dict[str, float | None]:
    """Return the limits that were written; None lifts one."""
    written = {name: getattr(arguments, name) for name in LIMITS}
    return {
        name: None if value == _NO_LIMIT else value
        for name, value in written.items()
        if value is not None
    }


def _up(arguments: argparse.Namespace) -> None:
    settings = ServiceSettings()
    log_as(settings.log_format, settings.log)
    is_json = settings.log_format == "json"
    announce = logger.info if is_json else partial(print, flush=True)
    try:
        asyncio.run(up(arguments.host, arguments.port, arguments.data, announce))
    except (StoreError, PartEnded) as error:
        if not is_json:
            raise
        logger.critical("%s", error)
        sys.exit(1)


def _api(arguments: argparse.Namespace) -> None:
    environment = {"TRITOND_HOST": arguments.host, "TRITOND_PORT": str(arguments.port)}
    _become("service", os.environ | environment)


def _worker(_: argparse.Namespace) -> None:
    _become("worker", dict(os.environ))


def _become(module: str, environment: dict[str, str]) -> None:
    command = [sys.executable, "-P", "-m", module]
    os.execve(sys.executable, command, environment)  # noqa: S606 - deliberately without a shell


def _store() -> StoreClient:
    settings = ServiceSettings()
    return connect(settings.redis_url, ack_replicas=settings.ack_replicas)


async def _create_key(arguments: argparse.Namespace) -> None:
    async with _store() as redis:
        scopes = tuple(dict.fromkeys(arguments.scope))
        key, secret = await ApiKeys(redis).create(
            arguments.name, scopes, arguments.namespace or "", **_limits_of(arguments)
        )
    print(f"{key.id}  {key.name}  {','.join(key.scopes)}\n{secret}")  # noqa: T201


async def _update_key(arguments: argparse.Namespace) -> None:
    if not (limits := _limits_of(arguments)):
        sys.exit("tritond: say which limit to change, --requests-per-s or --gpu-seconds-per-hour")
    async with connect(ServiceSettings().redis_url) as redis:
        key = await ApiKeys(redis).update(arguments.id, limits)
    if key is None:
        sys.exit(_unknown_key(arguments.id))
    print(_described(key))  # noqa: T201


def _described(key: ApiKey) -> str:
    limits = {name: getattr(key, name) for name in LIMITS}
    shown = "".join(f"  {name}={value:g}" for name, value in limits.items() if value is not None)
    return f"{key.id}  {key.name}  {','.join(key.scopes)}  {key.namespace}{shown}"


def _unknown_key(key_id: str) -> str:
    return f"tritond: no API key has the id {key_id}; `tritond key list` shows the ids"


async def _list_keys() -> None:
    async with _store() as redis:
        for key in await ApiKeys(redis).list():
            print(_described(key))  # noqa: T201


async def _revoke_key(key_id: str) -> None:
    async with _store() as redis:
        if not await ApiKeys(redis).revoke(key_id):
            sys.exit(_unknown_key(key_id))


def _add_toolchain_commands(parser: argparse.ArgumentParser) -> None:
    """Add the commands list, default and forget."""
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listing = commands.add_parser(
        "list", help="list toolchains: * marks the default, - those without a worker"
    )
    listing.set_defaults(run=lambda _: asyncio.run(_list_toolchains()))
    default = commands.add_parser(
        "default", help="set the toolchain of requests that name no Triton"
    )
    default.add_argument("id")
    default.set_defaults(run=lambda arguments: asyncio.run(_set_default_toolchain(arguments.id)))
    forget = commands.add_parser("forget", help="stop offering a toolchain")
    forget.add_argument("id")
    forget.set_defaults(run=lambda arguments: asyncio.run(_forget_toolchain(arguments.id)))


async def _list_toolchains() -> None:
    async with _store() as redis:
        toolchains, default = Toolchains(redis), await Toolchains(redis).default()
        workers = await Workers(redis).list()
        living = {name for worker in workers for name in worker.served}
        for name, description in (await toolchains.list()).items():
            mark = ("*" if name == default else " ") + (" " if name in living else "-")
            triton = Toolchain.model_validate_json(description).triton
            print(f"{mark} {name}  Triton {triton}")  # noqa: T201


async def _set_default_toolchain(name: str) -> None:
    async with _store() as redis:
        if not await Toolchains(redis).set_default(name):
            sys.exit(_unknown_toolchain(name))


async def _forget_toolchain(name: str) -> None:
    async with _store() as redis:
        toolchains = Toolchains(redis)
        if name == await toolchains.default():
            sys.exit(f"tritond: {name} is the default; set another default first")
        if not await toolchains.forget(name):
            sys.exit(_unknown_toolchain(name))


def _add_blobs_commands(parser: argparse.ArgumentParser) -> None:
    """Add the command sweep."""
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    sweep = commands.add_parser("sweep", help="delete objects that the cache has forgotten")
    sweep.add_argument(
        "--older-than-days", type=float, default=1.0, metavar="DAYS", help="default: 1"
    )
    sweep.add_argument("--dry-run", action="store_true", help="delete nothing, only count")
    sweep.add_argument("--all", action="store_true", help="even if the cache knows none of them")
    sweep.set_defaults(run=lambda arguments: asyncio.run(_sweep_blobs(arguments)))


async def _sweep_blobs(arguments: argparse.Namespace) -> None:
    settings = ServiceSettings()
    if settings.blobs_url is None:
        sys.exit("tritond: there is no bucket to sweep; set TRITOND_BLOBS_URL as for the services")
    bucket = Bucket(settings.blobs_url)
    async with connect(settings.cache_url or settings.redis_url) as cache:
        older_than_s = arguments.older_than_days * 24 * 3600
        found = await find_forgotten(Blobs(cache, bucket=bucket), bucket, older_than_s)
        if not arguments.dry_run:
            await delete_forgotten(bucket, found, even_all=arguments.all)
    done = "would be deleted" if arguments.dry_run else "deleted"
    print(  # noqa: T201
        f"{found.objects} objects, {found.marked} of them in use; "
        f"{len(found.digests)} {done}, of {found.size_bytes} bytes"
    )


def _unknown_toolchain(name: str) -> str:
    return f"tritond: no toolchain is called {name}; `tritond toolchain list` shows all"


if __name__ == "__main__":
    main()
