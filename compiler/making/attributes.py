"""What a module of IR says of itself: its warps, its CTAs, the target it was made for."""

from __future__ import annotations

import re
from typing import Any

from compiler.excerpt import Diagnostic, diagnostic
from compiler.making.failure import Failure

_OF_OPTIONS = {"num_warps": "ttg.num-warps", "num_ctas": "ttg.num-ctas"}
_THREADS_PER_WARP = "ttg.threads-per-warp"
_TARGET = re.compile(r'ttg\.target"? = "([^"]*)"')


def options_of(module: Any, language: str) -> dict[str, int]:
    """Return the options that TTGIR and Gluon IR carry, which win over the request's."""
    return {} if language == "ttir" else _said(module)


def check(module: Any, target: Any, language: str) -> None:
    """Raise `Failure` (`compile_error`) for a module that cannot be lowered as it is."""
    threads = module.get_int_attr(_THREADS_PER_WARP)
    if language == "ttgir" and "num_warps" not in _said(module):
        message = (
            f"the module does not say {_OF_OPTIONS['num_warps']}, as every TTGIR module does: "
            'if it is TTIR, post it with "language": "ttir"'
        )
    elif threads is not None and threads != target.warp_size:
        message = (
            f"the module is made for warps of {threads} threads; "
            f"{target.backend}:{target.arch} has warps of {target.warp_size}"
        )
    else:
        return
    raise Failure("compile_error", language, message, [diagnostic("error", language, message)])


def contradictions(module: Any, header: dict[str, Any]) -> list[Diagnostic]:
    """Return what the module says of itself that is not what `header` asks for."""
    language, options = header["language"], header["options"]
    wins = "the option holds, TTIR has none yet" if language == "ttir" else "the module's holds"
    found = [
        diagnostic(
            "note",
            language,
            f"the module says {_OF_OPTIONS[name]} = {value}, the options {name} = {options[name]}: "
            f"{wins}",
        )
        for name, value in _said(module).items()
        if options.get(name, value) != value
    ]
    # aliases of layouts stand before the module's own line
    lines = module.str_nodebug().splitlines()
    own_line = next((line for line in lines if line.startswith(("module", '"builtin.module"'))), "")
    made_for = _TARGET.search(own_line)
    asked_for = f"{header['target']['backend']}:{header['target']['arch']}"
    if language != "ttir" and made_for is not None and made_for[1] != asked_for:
        message = (
            f"the module was made for {made_for[1]} and is compiled for {asked_for}, which may "
            "lack its instructions: TTIR can be compiled for any target, TTGIR for its own"
        )
        found.append(diagnostic("warning", language, message))
    return found


def _said(module: Any) -> dict[str, int]:
    found = {name: module.get_int_attr(attribute) for name, attribute in _OF_OPTIONS.items()}
    return {name: value for name, value in found.items() if value is not None}
