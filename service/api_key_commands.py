"""`tritond key`: creates, lists, changes and revokes API keys in the store."""

import argparse
import asyncio
import re
import sys
from datetime import UTC, datetime, timedelta

from service.caller import SCOPES
from service.settings import ServiceSettings
from store.api_keys import ApiKey, ApiKeys
from store.connection import StoreClient, connect
from store.usage import UsageAccounts

LIMITS = ("requests_per_s", "gpu_seconds_per_hour")
_COLUMNS = (
    "id", "name", "scopes", "namespace", "created (UTC)", "last use", "expires (UTC)", *LIMITS
)  # fmt: skip
_LATER = re.compile(r"(?P<count>[1-9][0-9]{0,4})(?P<unit>[dh])", re.ASCII)


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


def _store() -> StoreClient:
    settings = ServiceSettings()
    return connect(settings.redis_url, ack_replicas=settings.ack_replicas)


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
        found = await ApiKeys(redis).list()
        last: dict[str, str] = {}
        for day in await UsageAccounts(redis).of_all():  # newest first
            last.setdefault(day.caller, day.day)
    rows = [_COLUMNS, *(_row(key, last.get(key.id, "")) for key in found)]
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
