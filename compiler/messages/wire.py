"""The one place where the header of a frame becomes an order, and an order a header.

An order that lacks a member, or has one that its task does not know, is refused: worker and child
are of one version, so it is an internal error. Standard library only.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from compiler.messages.orders import Order

Send = Callable[[dict[str, Any], bytes], None]
"""Sends a frame of the present job: a header and bytes."""
Task = Callable[[dict[str, Any], bytes, Send], dict[str, Any]]
"""A child's program: it gets a frame's header and body, and returns the last frame's header."""

_Order = TypeVar("_Order", bound=Order)
_Record = TypeVar("_Record")


def task_of(kind: type[_Order], run: Callable[[_Order, bytes, Send], object]) -> tuple[str, Task]:
    """Return the name of the task for orders of this kind, and the child's program.

    `run` returns a report, None where all that there is to report was sent.
    """
    read = reader_of(kind)

    def task(header: dict[str, Any], body: bytes, send: Send) -> dict[str, Any]:
        report = run(read(header), body, send)
        return {} if report is None else members_of(report)

    return kind.task, task


def header_of(order: Order) -> dict[str, Any]:
    """Return the header of the frame that brings a child this order."""
    return {"task": order.task, **members_of(order)}


def members_of(record: Any) -> dict[str, Any]:
    """Return a record as JSON."""
    return {item.name: _plain(getattr(record, item.name)) for item in fields(record)}


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return members_of(value)
    if isinstance(value, dict) and any(map(is_dataclass, value.values())):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list) and any(map(is_dataclass, value)):
        return [_plain(item) for item in value]
    return value


def reader_of(kind: type[_Record]) -> Callable[[Mapping[str, Any]], _Record]:
    """Return what reads records of this kind, and raises ValueError for members of another."""
    hints = get_type_hints(kind)
    readers = {item.name: _inner(hints[item.name]) for item in fields(kind)}  # type: ignore[arg-type]
    inner = {name: reader for name, reader in readers.items() if reader is not None}

    def read(members: Mapping[str, Any]) -> _Record:
        values = dict(members)
        for name in inner.keys() & values.keys():
            values[name] = inner[name](values[name])
        try:
            return kind(**values)
        except TypeError as error:
            message = f"a message that is not {kind.__name__}: {error}"
            raise ValueError(message) from error

    return read


def _inner(hint: Any) -> Callable[[Any], Any] | None:
    """Return what reads a member that holds records: one, perhaps none, or several."""
    records = [kind for kind in (hint, *get_args(hint)) if _is_record(kind)]
    if not records:
        return None
    read = reader_of(records[0])
    if get_origin(hint) in (dict, Mapping):
        return lambda members: {name: read(item) for name, item in members.items()}
    if get_origin(hint) in (list, Sequence):
        return lambda members: [read(item) for item in members]
    return lambda member: None if member is None else read(member)


def _is_record(kind: Any) -> bool:
    return is_dataclass(kind) and isinstance(kind, type)
