"""Prompts for the three usual loops, which clients offer as commands. Runs in: service."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from mcp import types

from compiler.rejection import did_you_mean

_ARGUMENT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class _Loop:
    """A loop of tool calls; its arguments fill the text."""

    description: str
    arguments: Mapping[str, str]
    text: str


_SOURCE = {"source": "the kernel, or a description of it"}
_LOOPS: Mapping[str, _Loop] = {
    "write_kernel": _Loop(
        "Write a Triton kernel until it compiles and is right.",
        {"task": "what the kernel computes, with shapes and dtypes"},
        "Write a Triton kernel for this task: {task}\n\n"
        "1. Call `inspect` with the source, and `compile` until it succeeds; fix the line of each "
        "error.\n"
        "2. Call `launch` with a NumPy `reference` on a small size that is not a multiple of the "
        'block, with checks ["racecheck", "fuzz"], until the verdict is `passed`.\n'
        "3. Call `prove` with a contract for all sizes, and fix what it refutes.\n"
        "Follow the line `Next:` of each answer. Show the final source.",
    ),
    "fix_kernel": _Loop(
        "Find out why a Triton kernel fails, and fix it.",
        _SOURCE,
        "Find and fix what is wrong with this Triton kernel:\n\n{source}\n\n"
        "1. Call `compile`; fix errors at their lines.\n"
        '2. Call `launch` with a `reference` and checks ["racecheck", "initcheck", "fuzz"]. A '
        "finding names the line, the program and the index.\n"
        "3. Change one thing at a time, and launch again until the verdict is `passed`.\n"
        "4. Call `prove` for the sizes that no launch tried.\n"
        "Report what was wrong, and show the fixed source.",
    ),
    "tune_kernel": _Loop(
        "Find better settings for a Triton kernel.",
        _SOURCE | {"target": "such as cuda:90"},
        "Find better settings of this Triton kernel for {target}:\n\n{source}\n\n"
        "1. Call `launch` with a `reference` first: it has to be right.\n"
        "2. Call `compile` and `explain` for registers, spills and occupancy.\n"
        "3. Call `sweep` over block sizes, `num_warps` and `num_stages`; sort by what limits it.\n"
        "4. If `targets` lists a GPU, call `launch` with `time` for the best three. Otherwise "
        "report that nothing was timed.\n"
        "Report the numbers before and after.",
    ),
}


def listed_prompts() -> list[types.Prompt]:
    """Return the entries of all prompts."""
    return [
        types.Prompt(
            name=name,
            description=loop.description,
            arguments=[
                types.PromptArgument(name=argument, description=text, required=True)
                for argument, text in loop.arguments.items()
            ],
        )
        for name, loop in _LOOPS.items()
    ]


def prompt(name: str, given: Mapping[str, str]) -> types.GetPromptResult:
    """Return the text of a prompt. Raises ValueError for an unknown name or a missing argument."""
    loop = _LOOPS.get(name)
    if loop is None:
        raise ValueError(f"There is no prompt {name[:80]!r}.{did_you_mean(name, _LOOPS)}")
    missing = [argument for argument in loop.arguments if argument not in given]
    if missing:
        raise ValueError(f"The prompt {name} needs the argument {missing[0]!r}.")
    text = _ARGUMENT.sub(lambda match: given[match[1]], loop.text)
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
    return types.GetPromptResult(description=loop.description, messages=[message])
