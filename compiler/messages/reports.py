"""What children report of their tasks. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class BlockLocations:
    """The locations of all block arguments of a module, in walking order.

    `table` has each text once; `blocks` says for each block's arguments which of them.
    """

    table: list[str]
    blocks: list[list[int]]
