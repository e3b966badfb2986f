"""`--emit`: plans which stage is written to which file."""

from argparse import ArgumentTypeError
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from tritonc._sync.client import Client
from tritonc.cli.streams import STANDARD, check_writable, name_of, write
from tritonc.cli.terminal import Say
from tritonc.compilation import Compilation
from tritonc.diagnostic import with_own_name

ON_DEMAND = {
    "sass": "the disassembled machine code",
    "numpy": "the kernel as a NumPy module",
}
"""Stages that are made on request, so never part of an answer; each has a command, too."""
EXPORTS = ("c", "cuda-inline", "rust", "python", "triton-cache")
_STAGES = ("source", "ttir", "ttgir", "llir", "ptx", "cubin", "amdgcn", "hsaco", *ON_DEMAND)
_ALIKE = 0.75


@dataclass(frozen=True, slots=True)
class Emissions:
    """The paths to write, by file name, target and stage."""

    paths: dict[tuple[str, str], dict[str, str]]

    @classmethod
    def of(cls, words: Sequence[str], files: Sequence[str], targets: Sequence[str]) -> "Emissions":
        """Plan the path of each `STAGE[=PATH]` for each file and target.

        Without a PATH, the file is named after the source, as rustc does, and after the target if
        there are several. Raises ArgumentTypeError if two stages share a file, if a file cannot be
        written, or for a slip in the name of a stage.
        """
        for word in words:
            _check_spelling(word.partition("=")[0])
        paths = {
            (name_of(file), target): {
                stage: _path(path or _default(stage, len(targets)), file, target)
                for stage, _, path in (word.partition("=") for word in words)
            }
            for file in files
            for target in targets
        }
        _check_one_each([path for stages in paths.values() for path in stages.values()])
        for stages in paths.values():
            for stage, path in stages.items():
                check_writable(path, f"--emit {stage}={path}")
        return cls(paths)

    @property
    def included(self) -> list[str]:
        """The stages to request with the compilation."""
        stages = dict.fromkeys(stage for stages in self.paths.values() for stage in stages)
        return [stage for stage in stages if stage not in ON_DEMAND]

    def write(
        self,
        file: str,
        target: str,
        compilation: Compilation,
        client: Client,
        wait_s: float,
        say: Say,
    ) -> None:
        """Write the available stages; request those made on demand only after a success."""
        for stage, path in self.paths[file, target].items():
            content: str | bytes
            if stage in compilation.included:
                content = compilation.included[stage]
            elif compilation.succeeded:
                content = client.artifact(compilation.key, stage, wait_s=wait_s)
                content = with_own_name(content, file) if stage == "sass" else content
            else:
                continue
            write(content, path)
            if path != STANDARD:
                say(f"wrote {path} ({stage})")


def _check_spelling(stage: str) -> None:
    """Raise ArgumentTypeError for a slip; the service may have stages that are not known here."""
    if stage in EXPORTS:
        message = f"--emit: {stage} is an export, not a stage: compile, then use "
        raise ArgumentTypeError(f"{message}`tritonc export @last {stage} > FILE`")
    meant = get_close_matches(stage[:40], _STAGES, n=1, cutoff=_ALIKE)
    if meant and stage not in _STAGES:
        raise ArgumentTypeError(f"--emit: there is no stage {stage!r}. Did you mean {meant[0]}?")


def _default(stage: str, targets: int) -> str:
    return f"{{file}}.{{target}}.{stage}" if targets > 1 else f"{{file}}.{stage}"


def _path(written: str, file: str, target: str) -> str:
    stem = "kernel" if file == STANDARD else Path(file).stem
    return written.replace("{file}", stem).replace("{target}", target.replace(":", "-"))


def _check_one_each(paths: Sequence[str]) -> None:
    for path in paths:
        if path != STANDARD and paths.count(path) > 1:
            raise ArgumentTypeError(
                f"--emit: several stages would go to {path}; add placeholders to PATH, as in "
                "'ptx=out/{file}-{target}.ptx'"
            )
