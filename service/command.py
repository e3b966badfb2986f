"""The command `tritond`: up, api, worker, key, toolchain and blobs.

It starts processes, edits API keys and the default toolchain in the store, and sweeps the bucket.
Nothing else is decided here.

Secrets may come from files: TRITOND_ADMIN_KEY_FILE names the file with TRITOND_ADMIN_KEY.
Orchestrators mount such files, and the secrets are not in the environment that a process starts
with, which others can see.
"""

import argparse
import asyncio
import logging
import os
import re
import sys
from collections.abc import MutableMapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from pydantic import ValidationError

from compiler.toolchain import Toolchain
from jobs.logs import log_as
from service import VERSION
from service.caller import SCOPES
from service.settings import ServiceSettings, unknown_variables, wrong_settings
from service.up import PartEnded, up
from store.api_keys import ApiKey, ApiKeys
from store.blobs import Blobs
from store.bucket import Bucket
from store.bucket_sweep import delete_forgotten, find_forgotten
from store.connection import StoreClient, connect
from store.errors import BucketUnavailable, StoreError, StoreUnavailable
from store.stored import read_stored
from store.usage import UsageAccounts
from store.workers import Toolchains, Workers

LIMITS = ("requests_per_s", "gpu_seconds_per_hour")
_COLUMNS = (
    "id", "name", "scopes", "namespace", "created (UTC)", "last use", "expires (UTC)", *LIMITS
)  # fmt: skip
_LATER = re.compile(r"(?P<count>[1-9][0-9]{0,4})(?P<unit>[dh])", re.ASCII)
SECRETS = ("TRITOND_ADMIN_KEY", "TRITOND_REDIS_URL", "TRITOND_CACHE_URL")
FILE = "_FILE"
MAX_BYTES = 64 << 10
logger = logging.getLogger("tritond")


def main() -> None:
    """Run the command. Exit status: 0 after a signal to stop, 1 on failure, 2 on wrong usage."""
    try:
        read_secret_files(os.environ)
        arguments = _parser().parse_args()
        _start_log()
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
    command = commands.add_parser(
        "up",
        help="run everything on this machine, with an embedded Valkey or on TRITOND_REDIS_URL",
    )
    _add_address(command)
    command.add_argument(
        "--data", type=_data_folder, default=".tritond", help="default: ./.tritond"
    )
    command.set_defaults(run=_up)
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


def _start_log() -> None:
    """Log as the settings demand, and warn of variables that are not settings."""
    settings = ServiceSettings()
    log_as(settings.log_format, settings.log)
    for warning in unknown_variables(os.environ):
        logger.warning("%s", warning)


def _add_address(parser: argparse.ArgumentParser) -> None:
    settings = ServiceSettings()
    parser.add_argument("--host", default=settings.host, help=f"default: {settings.host}")
    parser.add_argument("--port", type=int, default=settings.port, help=f"default: {settings.port}")


def _up(arguments: argparse.Namespace) -> None:
    is_json = ServiceSettings().log_format == "json"
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
        forgotten = await find_forgotten(Blobs(cache, bucket=bucket), bucket, older_than_s)
        if not arguments.dry_run:
            await delete_forgotten(bucket, forgotten, even_all=arguments.all)
    done = "would be deleted" if arguments.dry_run else "deleted"
    print(  # noqa: T201
        f"{forgotten.objects} objects, {forgotten.marked} of them in use; "
        f"{len(forgotten.digests)} {done}, of {forgotten.size_bytes} bytes"
    )


def _unknown_toolchain(name: str) -> str:
    return f"tritond: no toolchain is called {name}; `tritond toolchain list` shows all"


class InvalidSecretFile(Exception):
    """A variable that names a file without a usable secret; the message has no secret."""


def read_secret_files(environment: MutableMapping[str, str]) -> None:
    """Replace each secret's `_FILE` variable by the secret. Raises InvalidSecretFile."""
    for name in SECRETS:
        path = environment.pop(name + FILE, "")
        if not path:
            continue
        if environment.get(name):
            raise InvalidSecretFile(f"{name} and {name}{FILE} are both set; keep one")
        try:
            with Path(path).open("rb") as file:
                secret = file.read(MAX_BYTES).decode().strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not text"
            raise InvalidSecretFile(f"{name}{FILE}: {path}: {reason}") from error
        if not secret:
            raise InvalidSecretFile(f"{name}{FILE}: {path} is empty")
        environment[name] = secret


def add_key_commands(parser: argparse.ArgumentParser) -> None:
    """Add the commands create, list, update and revoke."""
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    create = commands.add_parser("create", help="create a key and print its secret, once")
    create.add_argument("--name", type=_label, required=True)
    create.add_argument("--scope", action="append", choices=SCOPES, required=True)
    create.add_argument(
        "--namespace", type=_label, help="keys share a cache only within a namespace"
    )
    create.add_argument(
        "--expires",
        type=_expiry,
        metavar="WHEN",
        help="90d, 12h, or a date such as 2027-01-31 (UTC)",
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


def _expiry(written: str) -> str:
    """Return a later moment: after some days or hours, or the start of a day."""
    now = datetime.now(UTC)
    later = _LATER.fullmatch(written)
    try:
        if later is not None:
            unit = {"d": "days", "h": "hours"}[later["unit"]]
            at = now + timedelta(**{unit: int(later["count"])})
        else:
            at = datetime.strptime(written, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        at = now
    if at <= now:
        raise argparse.ArgumentTypeError(
            f"{written[:20]!r} is not a later moment; write 90d, 12h, or a date such as 2027-01-31"
        )
    return at.isoformat(timespec="seconds")


_MAX_LABEL_CHARS = 100


def _label(written: str) -> str:
    if not written.strip() or len(written) > _MAX_LABEL_CHARS or not written.isprintable():
        raise argparse.ArgumentTypeError(
            f"{written[:20]!r} is not a name; write 1 to {_MAX_LABEL_CHARS} characters that can be "
            "printed, without line breaks"
        )
    return written


_NO_LIMIT = "none"
_MIN, _MAX = 0.001, 1_000_000


def _add_limits(parser: argparse.ArgumentParser) -> None:
    for name, of in (("requests-per-s", "requests"), ("gpu-seconds-per-hour", "GPU time")):
        parser.add_argument(
            f"--{name}",
            type=_limit,
            metavar="N",
            help=f"limit of {of}, from {_MIN} to {_MAX}; {_NO_LIMIT}: no limit "
            "(default: none, or as it is)",
        )


def _limit(written: str) -> float | str:
    if written == _NO_LIMIT:
        return written
    try:
        number = float(written)
    except ValueError:
        number = 0.0
    if not _MIN <= number <= _MAX:
        raise argparse.ArgumentTypeError(
            f"{written!r} is not a limit; write a number from {_MIN} to {_MAX}, or {_NO_LIMIT}"
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


async def _create_key(arguments: argparse.Namespace) -> None:
    async with _store() as redis:
        scopes = tuple(dict.fromkeys(arguments.scope))
        key, secret = await ApiKeys(redis).create(
            arguments.name,
            scopes,
            arguments.namespace or "",
            expires_at=arguments.expires,
            **_limits_of(arguments),
        )
    print(f"{key.id}  {key.name}  {','.join(key.scopes)}\n{secret}")  # noqa: T201


async def _update_key(arguments: argparse.Namespace) -> None:
    if not (limits := _limits_of(arguments)):
        sys.exit("tritond: name the limit to change, --requests-per-s or --gpu-seconds-per-hour")
    async with _store() as redis:
        key = await ApiKeys(redis).update(arguments.id, limits)
    if key is None:
        sys.exit(_unknown_key(arguments.id))
    print(_described(key))  # noqa: T201


def _described(key: ApiKey) -> str:
    limits = {name: getattr(key, name) for name in LIMITS}
    shown = "".join(f"  {name}={value:g}" for name, value in limits.items() if value is not None)
    expires = f"  expires {_minute(key.expires_at)}" if key.expires_at else ""
    return f"{key.id}  {key.name}  {','.join(key.scopes)}  {key.namespace}{expires}{shown}"


def _unknown_key(key_id: str) -> str:
    return f"tritond: no API key has the id {key_id}; `tritond key list` shows the ids"


async def _list_keys() -> None:
    async with _store() as redis:
        listed = await ApiKeys(redis).list()
        last: dict[str, str] = {}
        for day in await UsageAccounts(redis).of_all():  # newest first
            last.setdefault(day.caller, day.day)
    rows = [_COLUMNS, *(_row(key, last.get(key.id, "")) for key in listed)]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())  # noqa: T201


def _row(key: ApiKey, last_use: str) -> tuple[str, ...]:
    limits = (getattr(key, name) for name in LIMITS)
    shown = ("" if limit is None else f"{limit:g}" for limit in limits)
    expires = _minute(key.expires_at)
    if key.is_expired():
        expires += " (over)"
    scopes = ",".join(key.scopes)
    dates = (_minute(key.created_at), last_use, expires)
    return (key.id, key.name, scopes, key.namespace, *dates, *shown)


def _minute(at: str | None) -> str:
    return (at or "")[:16].replace("T", " ")


async def _revoke_key(key_id: str) -> None:
    async with _store() as redis:
        if not await ApiKeys(redis).revoke(key_id):
            sys.exit(_unknown_key(key_id))


if __name__ == "__main__":
    main()
