"""Builds the base and the space of a sweep from flags and a request file."""

from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from tritonc._sync.client import Client
from tritonc.cli.argument_syntax import launch_argument, value
from tritonc.cli.kernel_flags import kernel_members
from tritonc.cli.launching.launch_members import launch_members, launch_source
from tritonc.cli.posted_file import PostedFile, parameters_of, specialized, with_constexprs
from tritonc.cli.streams import name_of, read
from tritonc.cli.terminal import Say
from tritonc.compile_body import compile_request
from tritonc.launch_body import LaunchRequest, launch_request

SWEPT = ("space", "where", "search", "budget_s", "contract", "include")
"""Members of a request file that belong to the sweep, not to its base."""
_PLAIN = {name: name for name in ("target", "triton", "source", "grid", "arguments")}
_PLAIN |= {f"{name}s": name for name in ("target", "triton", "source", "grid")}
NEARLY = 0.5
_OPEN, _CLOSE = "[{(", "]})"


def is_launch(args: Namespace, request: Mapping[str, Any]) -> bool:
    """Return whether the base runs the kernel instead of only compiling it."""
    flags = args.argument or args.grid or args.device or args.reference
    return bool(flags or request.keys() & {"arguments", "grid", "device", "cases", "reference"})


def base_of(
    args: Namespace,
    request: dict[str, Any],
    posted: PostedFile | None,
    targets: Sequence[str],
    space: Any,
    client: Client,
    say: Say,
) -> Mapping[str, Any] | LaunchRequest:
    """Return the request that all variants share. Raises ArgumentTypeError.

    `say` gets what was inferred; parameters with an axis in `space` are left to it.
    """
    swept = frozenset(_names(space))
    args.target = targets[0] if len(targets) == 1 else None
    if is_launch(args, request):
        if args.like:
            raise ArgumentTypeError("--like: not for launches; --argument gives their types")
        source = launch_source(args, request, posted)
        members = launch_members(args, request)
        if not args.autotune:
            source = with_constexprs(source, members, posted, client, say, swept=swept)
        package = None if posted is None else posted.package
        return launch_request(source, package=package, **members)
    request.pop("cases", None)
    members = {**request, **kernel_members(args)}
    if posted is not None:
        target = _example_target(args, targets)
        members = specialized(posted, args, members, target, client, say, swept=swept)
        members |= posted.members
    if args.target:
        members["target"] = args.target
    return compile_request(**{"source": None, **members})


def _names(space: Any) -> Iterator[str]:
    """Yield the names that a space gives values to: `BLOCK` for `constexprs.BLOCK`."""
    for part in space.values() if isinstance(space, Mapping) else space or ():
        if isinstance(part, Mapping | list):
            yield from _names(part)
    if isinstance(space, Mapping):
        yield from (str(name).rpartition(".")[2] for name in space)


def space_of(
    args: Namespace,
    request: dict[str, Any],
    posted: PostedFile | None,
    targets: Sequence[str],
    client: Client,
) -> Any:
    """Return the space: the axes of --space and --target, and those of the request file.

    Raises ArgumentTypeError if an axis is in both or there are none, OSError for sources.
    """
    written = request.pop("space", {})
    axes = _typed_axes(args, posted, targets, client)
    if not axes and not written:
        raise ArgumentTypeError(
            "no variants; give --space, such as --space BLOCK_SIZE=64,128 num_warps=2,4, "
            "several targets, or --autotune"
        )
    if isinstance(written, list):
        return {"variants": written, "product": axes} if axes else written
    described = _described(written)
    if twice := sorted(described.keys() & axes.keys()):
        raise ArgumentTypeError(f"--space {twice[0]}: {args.request} has this axis, too")
    return {**described, **axes}


def _typed_axes(
    args: Namespace, posted: PostedFile | None, targets: Sequence[str], client: Client
) -> dict[str, Any]:
    """Return the axes that the flags name."""
    axes: dict[str, Any] = {}
    facts = _facts(args, posted, client)
    for word, text in args.space:
        name = axis_name(word, facts, "--space")
        if name in axes:
            raise ArgumentTypeError(f"--space {word}: this axis is given twice")
        axes[name] = _values(name, text)
    if len(targets) > 1:
        if "target" in axes:
            raise ArgumentTypeError("--space target: --target gives several targets; leave one out")
        axes["target"] = list(targets)
    if not args.autotune:
        return axes
    like = dict(_scalars_of(args))
    return axes | {"autotune": True} | ({"like": like} if like else {})


def _scalars_of(args: Namespace) -> Iterator[tuple[str, Any]]:
    """Yield the numbers in --like, which heuristics of the file may need."""
    for name, text in args.like:
        example = launch_argument(text)
        if isinstance(example, Mapping) and "value" in example:
            example = example["value"]
        if isinstance(example, bool | int | float | str):
            yield name, example


def axis_name(word: str, facts: Mapping[str, Mapping[str, Any]], flag: str) -> str:
    """Return the axis for a word, such as `constexprs.BLOCK_SIZE` for `BLOCK_SIZE`.

    A name that is not a parameter of the kernel is an option, and those are in lower case. Raises
    ArgumentTypeError for others; its message begins with `flag`.
    """
    if "." in word or word in _PLAIN:
        return _PLAIN.get(word, word)
    fact = facts.get(word)
    if fact is None and facts and word != word.lower():
        close = get_close_matches(word, facts, n=1, cutoff=NEARLY)
        known = f"did you mean {close[0]}?" if close else f"it has {', '.join(facts)}"
        raise ArgumentTypeError(f"{flag} {word}: the kernel has no such parameter; {known}")
    if fact is None:
        return f"options.{word}"
    return f"constexprs.{word}" if fact.get("constexpr") else f"arguments.{word}"


def split_values(text: str) -> Iterator[str]:
    """Split at commas, except within brackets and quotes."""
    depth, quote, word = 0, "", ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in _OPEN + _CLOSE:
            depth += 1 if character in _OPEN else -1
        elif character == "," and depth == 0:
            yield word
            word = ""
            continue
        word += character
    yield word


def _values(name: str, text: str) -> Any:
    words = [word.strip() for word in split_values(text)]
    if not all(words):
        raise ArgumentTypeError(f"--space {name}={text}: a value between commas is empty")
    if name == "source":
        return {name_of(path): read(path) for path in words}
    if name.startswith("arguments."):
        return [launch_argument(word) for word in words]
    return words if name in {"target", "triton"} else [value(word) for word in words]


def _facts(
    args: Namespace, posted: PostedFile | None, client: Client
) -> dict[str, Mapping[str, Any]]:
    """Return the kernel's parameters by name if a word of --space needs them.

    Raises ArgumentTypeError if the kernel is ambiguous.
    """
    words = [name for name, _ in args.space if "." not in name and name not in _PLAIN]
    if posted is None or posted.language or not words:
        return {}
    inspection = posted.inspected(client)
    facts = parameters_of(inspection, args.kernel)
    if not facts and (kernels := [item["name"] for item in inspection.get("kernels") or ()]):
        raise ArgumentTypeError(
            f"--space {words[0]}: which kernel? {posted.name} has {', '.join(kernels)}; "
            f"give --kernel, or write constexprs.{words[0]}"
        )
    return facts


def _described(written: Mapping[str, Any]) -> dict[str, Any]:
    """Return the space of a request file with its arguments in full."""
    space = dict(written)
    sizes = space.get("arguments")
    if isinstance(sizes, Mapping):
        space["arguments"] = {label: _arguments(arguments) for label, arguments in sizes.items()}
    if isinstance(space.get("product"), Mapping):
        space["product"] = _described(space["product"])
    return space


def _arguments(arguments: Any) -> Any:
    if not isinstance(arguments, Mapping):
        return arguments
    return {
        name: launch_argument(item) if isinstance(item, str) else item
        for name, item in arguments.items()
    }


def _example_target(args: Namespace, targets: Sequence[str]) -> str:
    """Return a target of the common backend. Raises ArgumentTypeError if backends differ."""
    backends = {name.partition(":")[0] for name in targets}
    if args.like and len(backends) > 1:
        several = " than for ".join(sorted(backends))
        message = f"--like gives other types for {several}: sweep them separately"
        raise ArgumentTypeError(message)
    return targets[0] if targets else "cuda"
