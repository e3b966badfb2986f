"""The flags that say what is passed to a kernel, and where it runs; of launches and sweeps."""

import argparse
from typing import Any

from tritonc.cli.kernel_flags import PAIRS


def add_launch(parser: argparse.ArgumentParser) -> None:
    """Add what is passed to the kernel, where it runs, and what outputs are compared with."""
    add = parser.add_argument
    add("--request", metavar="PATH", help="a request as TOML or JSON; flags add to it")
    add("--device", help="auto (default), interpreter (a CPU), or a target of `tritonc devices`")
    add("--argument", "--arg", **PAIRS, help="what is passed; see below")
    add("--grid", nargs="+", metavar="N", help="97, or 'cdiv(n_elements, BLOCK_SIZE)'")
    add("--reference", metavar="PATH", help="Python file that defines reference(**arguments)")
    add("--rtol", type=float, help="tolerance of the comparison, relative")
    add("--atol", type=float, help="and absolute; defaults depend on the dtype")


def unused_of_launches() -> dict[str, Any]:
    """Return the words of the other flags of a launch, for a command that has none of them."""
    nothing = ("fuzz_seed", "trace", "step", "timeout_s", "check")
    never = ("interpret", "time", "hot_lines")
    return {
        **dict.fromkeys(nothing),
        **dict.fromkeys(never, False),
        "returns": [],
        "save": [],
    }
