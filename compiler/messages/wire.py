"""The one place where the header of a frame becomes an order, and an order a header.

An order that lacks a member, or has one that its task does not know, is refused: worker and child
are of one version, so it is a mistake of ours. Standard library only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_args, get_type_hints

from compiler.messages.orders import Order

Send = Callable[[dict[str, Any], bytes], None]
"""Sends a frame of the present job: a header and bytes."""
Task = Callable[[dict[str, Any], bytes, Send], dict[str, Any]]
"""What a child runs: it is given a frame's header and body, and returns the last frame's header."""

_Order = TypeVar("_Order", bound=Order)
_Record = TypeVar("_Record")


def task_of(
    kind: type[_Order], run: Callable[[_Order, bytes, Send], dict[str, Any]]
) -> tuple[str, Task]:
    """Return the name of the task that takes orders of this kind, and what the child runs."""
    read = reader_of(kind)

    def task(header: dict[str, Any], body: bytes, send: Send) -> dict[str, Any]:
        return run(read(header), body, send)

    return kind.task, task


def header_of(order: Order) -> dict[str, Any]:
    """Return the header of the frame that brings a child this order."""
    return {"task": order.task, **members_of(order)}


def members_of(record: Any) -> dict[str, Any]:
    """Return what a record says, as JSON has it."""
    return {item.name: _plain(getattr(record, item.name)) for item in fields(record)}


def _plain(value: Any) -> Any:
    return members_of(value) if is_dataclass(value) else value


def reader_of(kind: type[_Record]) -> Callable[[Mapping[str, Any]], _Record]:
    """Return what reads records of this kind, and raises ValueError for members of another."""
    hints = get_type_hints(kind)
    inner = {
        item.name: reader_of(found)
        for item in fields(kind)  # type: ignore[arg-type]
        for found in (hints[item.name], *get_args(hints[item.name]))
        if is_dataclass(found) and isinstance(found, type)
    }

    def read(members: Mapping[str, Any]) -> _Record:
        given = dict(members)
        for name in inner.keys() & given.keys():
            given[name] = None if given[name] is None else inner[name](given[name])
        try:
            return kind(**given)
        except TypeError as error:
            message = f"a message that is no {kind.__name__}: {error}"
            raise ValueError(message) from error

    return read
