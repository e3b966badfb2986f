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
from service.api_key_commands import add_key_commands
from service.secret_files import InvalidSecretFile, read_secret_files
from service.settings import ServiceSettings, unknown_variables, wrong_settings
from service.up import PartEnded, up
from store.blobs import Blobs
from store.bucket import Bucket
from store.bucket_sweep import delete_forgotten, find_forgotten
from store.connection import StoreClient, connect
from store.errors import BucketUnavailable, StoreError, StoreUnavailable
from store.stored import read_stored
from store.workers import Toolchains, Workers

logger = logging.getLogger("tritond")


def main() -> None:
    """Run the command. Exit status: 0 after a signal to stop, 1 on failure, 2 on wrong usage."""
    try:
        read_secret_files(os.environ)
        arguments = _parser().parse_args()
        arguments.run(arguments)
    except ValidationError as error:
        sys.exit(f"tritond: {wrong_settings(error)}")
    except (StoreError, PartEnded, InvalidSecretFile) as error:
        sys.exit(f"tritond: {error}{_where(error)}")


def _where(error: Exception) -> str:
    """Return where the store would be, if none answers at the default address."""
    is_chosen = bool(os.environ.get("TRITOND_REDIS_URL"))
    if is_chosen or not isinstance(error, StoreUnavailable) or isinstance(error, BucketUnavailable):
        return ""
    return " Set TRITOND_REDIS_URL; that of `tritond up` is unix://DATA/valkey/valkey.sock"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tritond", description="Compile, cache and run Triton GPU kernels over HTTP."
    )
    parser.add_argument("--version", action="version", version=f"tritond {VERSION}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    one = commands.add_parser("up", help="run everything on this machine, with an embedded Valkey")
    _add_address(one)
    one.add_argument("--data", type=_data_folder, default=".tritond", help="default: ./.tritond")
    one.set_defaults(run=_up)
    api = commands.add_parser("api", help="run the HTTP service, on TRITOND_REDIS_URL")
    _add_address(api)
    api.set_defaults(run=_api)
    worker = commands.add_parser(
        "worker", help="run a worker: compiles, launches on this machine's CPU and GPUs"
    )
    worker.set_defaults(run=_worker)
    add_key_commands(commands.add_parser("key", help="manage API keys, on TRITOND_REDIS_URL"))
    toolchain = commands.add_parser("toolchain", help="manage toolchains, on TRITOND_REDIS_URL")
    _add_toolchain_commands(toolchain)
    blobs = commands.add_parser("blobs", help="manage large blobs, in TRITOND_BLOBS_URL")
    _add_blobs_commands(blobs)
    return parser


def _data_folder(written: str) -> Path:
    """Return the folder, which is created if it does not exist."""
    if not written:
        raise argparse.ArgumentTypeError("expected a folder, such as .tritond")
    folder = Path(written)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError:
        raise argparse.ArgumentTypeError(f"{written} is not a folder") from None
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{written}: {error.strerror}") from None
    return folder


def _start_log() -> ServiceSettings:
    """Log as the settings demand, and warn of variables that are not settings."""
    settings = ServiceSettings()
    log_as(settings.log_format, settings.log)
    for warning in unknown_variables(os.environ):
        logger.warning("%s", warning)
    return settings


def _add_address(parser: argparse.ArgumentParser) -> None:
    settings = ServiceSettings()
    parser.add_argument("--host", default=settings.host, help=f"default: {settings.host}")
    parser.add_argument("--port", type=int, default=settings.port, help=f"default: {settings.port}")


def _up(arguments: argparse.Namespace) -> None:
    settings = _start_log()
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
    _start_log()
    environment = {"TRITOND_HOST": arguments.host, "TRITOND_PORT": str(arguments.port)}
    _become("service", os.environ | environment)


def _worker(_: argparse.Namespace) -> None:
    _start_log()
    _become("worker", dict(os.environ))


def _become(module: str, environment: dict[str, str]) -> None:
    command = [sys.executable, "-P", "-m", module]
    os.execve(sys.executable, command, environment)  # noqa: S606 - deliberately without a shell


def _store() -> StoreClient:
    settings = ServiceSettings()
    return connect(settings.redis_url, ack_replicas=settings.ack_replicas)


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
            triton = read_stored(Toolchain, description).triton
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
