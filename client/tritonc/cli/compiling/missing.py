"""What a kernel still needs, as one line of flags to add."""

import shlex
from argparse import Namespace

from tritonc._sync.client import Client
from tritonc.cli.kernel_source import KernelSource, parameters_of
from tritonc.compilation import Compilation

_SLUGS = frozenset({"missing_constexpr", "missing_argument"})


def flags_to_add(
    compilation: Compilation, source: KernelSource, given: Namespace, client: Client
) -> str:
    """Return the flags for all parameters without a type or value, nothing if none is missing."""
    problem = compilation.problem
    if problem is None or problem.slug not in _SLUGS or source.language:
        return ""
    facts = parameters_of(client.inspect(source.text, files=source.files), given.kernel)
    named = [word.partition("=")[0] for word in given.signature]
    known = {*named, *(name for name, _ in [*given.constexpr, *given.like])}
    missing = [fact for name, fact in facts.items() if name not in known and not fact["default"]]
    types = [f"{fact['name']}=?" for fact in missing if not fact["constexpr"]]
    values = [f"{fact['name']}=?" for fact in missing if fact["constexpr"]]
    flags = [["--like", *types] if types else [], ["--constexpr", *values] if values else []]
    example = ", as in --like 'x_ptr=fp32[4096]' n=98432" if types else ""
    return " ".join(shlex.join(words) for words in flags if words) + example
