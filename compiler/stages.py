"""The stages: one row for each, and everything that depends on which stages there are.

A stage is a step of Triton's pipeline under Triton's own name, or a text that is derived from one
on demand. To add one, add its row, add its name to the types above the table, and write the code
that makes it; `tests/unit/compiler/test_stages.py` fails until the row is complete. The page reads
`page/src/stages.ts`, which `make page-tables` writes from this table.
"""

from dataclasses import dataclass
from typing import Final, Literal

CompiledStage = Literal["source", "ttir", "ttgir", "llir", "ptx", "cubin", "amdgcn", "hsaco"]
"""A stage that a compilation keeps: a value of `stop_after` and `include`."""
CompiledTextStage = Literal["source", "ttir", "ttgir", "llir", "ptx", "amdgcn"]
TextStage = Literal["source", "ttir", "ttgir", "llir", "ptx", "sass", "amdgcn", "numpy"]
"""A stage with a text: the page has a pane for it."""
ComparedStage = Literal["source", "ttir", "ttgir", "llir", "ptx", "sass", "amdgcn"]
"""A stage whose text a diff compares."""
DiagnosticStage = Literal[
    "request", "frontend", "ttir", "ttgir", "llir", "ptx", "cubin", "amdgcn", "hsaco"
]
"""The stage that a diagnostic names: the front end makes `source`."""
Syntax = Literal["mlir", "llvm", "ptx", "sass", "amdgcn", "python", "elf"]
"""The language of a stage: it decides how lines, names, comments and differences are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One stage, in the order of the pipeline."""

    name: str
    title: str
    """The name that people read."""
    backends: tuple[str, ...]
    syntax: Syntax
    media_type: str
    made_by: Literal["front", "back", "derivation"]
    derived_from: tuple[str, ...] = ()
    """For a derived stage: it is made from the first available one of these."""
    is_mapped: bool = False
    """Its lines are mapped to the user's."""
    is_compared: bool = False
    """A diff compares its text."""
    has_passes: bool = False
    """Passes of MLIR or LLVM make it."""

    @property
    def is_binary(self) -> bool:
        """True if it has no text."""
        return self.syntax == "elf"

    @property
    def is_derived(self) -> bool:
        """True if it is made on demand, from a finished compilation."""
        return self.made_by == "derivation"


_BOTH: Final = ("cuda", "hip")
STAGES: Final = (
    Stage(name="source", title="Source IR", backends=_BOTH, syntax="mlir",
          media_type="text/x-mlir", made_by="front", is_compared=True),
    Stage(name="ttir", title="TTIR", backends=_BOTH, syntax="mlir", media_type="text/x-mlir",
          made_by="front", is_mapped=True, is_compared=True, has_passes=True),
    Stage(name="ttgir", title="TTGIR", backends=_BOTH, syntax="mlir", media_type="text/x-mlir",
          made_by="back", is_mapped=True, is_compared=True, has_passes=True),
    Stage(name="llir", title="LLVM IR", backends=_BOTH, syntax="llvm", media_type="text/x-llvm",
          made_by="back", is_mapped=True, is_compared=True, has_passes=True),
    Stage(name="ptx", title="PTX", backends=("cuda",), syntax="ptx", media_type="text/x-ptx",
          made_by="back", is_mapped=True, is_compared=True),
    Stage(name="cubin", title="cubin", backends=("cuda",), syntax="elf",
          media_type="application/x-elf", made_by="back"),
    Stage(name="sass", title="SASS", backends=("cuda",), syntax="sass", media_type="text/x-sass",
          made_by="derivation", derived_from=("cubin",), is_mapped=True, is_compared=True),
    Stage(name="amdgcn", title="AMD assembly", backends=("hip",), syntax="amdgcn",
          media_type="text/x-asm", made_by="back", is_mapped=True, is_compared=True),
    Stage(name="hsaco", title="hsaco", backends=("hip",), syntax="elf",
          media_type="application/x-elf", made_by="back"),
    Stage(name="numpy", title="NumPy form", backends=_BOTH, syntax="python",
          media_type="text/x-python", made_by="derivation", derived_from=("source", "ttir")),
)  # fmt: skip
BY_NAME: Final = {stage.name: stage for stage in STAGES}
COMPILED: Final = {stage.name: stage for stage in STAGES if not stage.is_derived}
"""The stages that a compilation keeps."""
COMPARED: Final = tuple(stage.name for stage in STAGES if stage.is_compared)
MAPPED: Final = tuple(stage.name for stage in STAGES if stage.is_mapped)
BINARY: Final = frozenset(stage.name for stage in STAGES if stage.is_binary)


def pipeline(backend: str) -> tuple[str, ...]:
    """Return the names of the stages of a compilation for `backend`, first to last."""
    return tuple(name for name, stage in COMPILED.items() if backend in stage.backends)


def made_by(child: Literal["front", "back"]) -> frozenset[str]:
    """Return the names of the stages that a child of this kind may send."""
    return frozenset(stage.name for stage in STAGES if stage.made_by == child)
