"""From what was posted to what will be compiled: defaults filled in, everything checked, keyed.

Pure: the same request and toolchain give the same job. The source is never parsed here.
"""

import re
from typing import Any

from compiler.job import CompileJob
from compiler.key import compile_key
from compiler.options import resolve_options
from compiler.rejection import Fault, RequestRejected, collecting, pointer, shown
from compiler.request import CompileRequest
from compiler.specialization import parse_specialization
from compiler.target import Target, parse_target
from compiler.toolchain import Toolchain

SOURCE_PATH = "user.py"
_MODULE_PATH = re.compile(r"(?:[A-Za-z_]\w*/){0,8}[A-Za-z_]\w*\.py", re.ASCII)


def resolve(request: CompileRequest, toolchain: Toolchain, namespace: str) -> CompileJob:
    """Return the job that `request` asks of `toolchain`.

    Raises RequestRejected naming every field that cannot be.
    """
    faults: list[Fault] = []
    with collecting(faults):
        _check_text(request)
    with collecting(faults):
        specialization = parse_specialization(request.signature, request.hints, request.constexprs)
    with collecting(faults):
        target = _offered_target(request.target, toolchain)
        stop_after = request.stop_after or target.stages[-1]
        with collecting(faults):
            _check_stages(request, target, stop_after)
        options = resolve_options(request.options, toolchain.options[target.backend], target)
    if faults:
        raise RequestRejected(*faults)
    parts: dict[str, Any] = {
        "namespace": namespace,
        "source": request.source,
        "files": request.files,
        "kernel": request.kernel,
        "specialization_json": specialization.to_json(),
        "options": options,
        "target_name": str(target),
        "stop_after": stop_after,
        "toolchain_id": toolchain.id,
    }
    key = compile_key([("input", "source"), *parts.items()])
    return CompileJob(key=key, timeout_s=request.timeout_s, **parts)


def _offered_target(written: str, toolchain: Toolchain) -> Target:
    target = parse_target(written)
    if str(target) not in toolchain.targets:
        offered = ", ".join(toolchain.targets)
        message = (
            f"Triton {toolchain.triton} here cannot compile for {target}. It can for {offered}."
        )
        raise RequestRejected(Fault("/target", message))
    return target


def _check_stages(request: CompileRequest, target: Target, stop_after: str) -> None:
    stages = target.stages
    if stop_after not in stages:
        message = f"{target.backend} has no stage {stop_after}; it has {', '.join(stages)}"
        raise RequestRejected(Fault("/stop_after", message))
    reached = stages[: stages.index(stop_after) + 1]
    for index, stage in enumerate(request.include):
        if stage not in reached:
            message = f"{stage} is not made for {target} with stop_after {stop_after}"
            raise RequestRejected(Fault(pointer("include", index), message))


def _check_text(request: CompileRequest) -> None:
    texts = {"/source": request.source}
    texts |= {pointer("files", path): text for path, text in request.files.items()}
    faults = [
        Fault(at, "Python source cannot contain NUL characters")
        for at, text in texts.items()
        if "\0" in text
    ]
    for path in request.files:
        if path == SOURCE_PATH:
            faults.append(Fault(pointer("files", path), f"{path} is `source` itself; rename it"))
        elif not _MODULE_PATH.fullmatch(path):
            message = f"{shown(path)} is not a module path such as helpers.py or package/helpers.py"
            faults.append(Fault(pointer("files", path), message))
    if faults:
        raise RequestRejected(*faults)
