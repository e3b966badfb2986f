"""The languages of kernels: one row for each, and everything that depends on which there are.

A language is Python that Triton executes, or IR that is posted as text. To add one, add its row,
and, if it is executed, its front end to `FRONT_ENDS` in `compiler/back/triton_api.py`;
`tests/integration/compiler/test_languages.py` fails until both are complete.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

PythonLanguage = Literal["triton", "gluon"]
"""A language that is executed."""
PostedLanguage = Literal["ttir", "ttgir"]
"""A language of IR that is posted: a value of `ir.language` in a request."""
SourceLanguage = Literal["python", "ttir", "ttgir"]
"""A language as the page names it: Python, or that of posted IR."""
FrontIr = Literal["ttir", "glir"]
"""The IR that a front end may make for a back end."""
_GLUON: Final = "triton.experimental.gluon"


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """One language, and the way from its text to the back end."""

    name: str
    title: str
    """The name that people read."""
    ir: str
    """The IR that a back end gets, as orders, keys and stored results name it."""
    lowered_from: str
    """The stage whose text that IR is."""
    pipeline: PythonLanguage
    """The language whose stages of Triton lower it."""
    shown_stage: str
    """The stage that a diagnostic on its IR names."""
    carries_options: bool = False
    """True if its IR has the number of warps and CTAs, which win over the options."""
    not_on_cpu: str = ""
    """Why the CPU device does not run it, as the end of "it ..."; "" if it does."""
    decorators: frozenset[str] = frozenset()
    """The full names of the decorators that make a function a kernel; none for IR."""
    names: Mapping[str, str] = field(default_factory=dict)
    """The modules that usual names mean, also where a source imports them from elsewhere. Under the
    language's own name is its package."""
    modules: tuple[str, ...] = ()
    """Modules that a zygote imports for it, next to those of `triton.language`."""
    word: str = ""
    """A word that each source in it contains, if its front end reads options of the back end."""

    @property
    def is_executed(self) -> bool:
        """True for Python, False for IR."""
        return bool(self.decorators)

    @property
    def has_ttir(self) -> bool:
        """True if its kernels have TTIR, which proofs and the CPU device read."""
        return self.ir == "ttir"


_EACH_THREAD: Final = "describes what each thread of a GPU does"
LANGUAGES: Final = (
    Language(
        name="triton", title="Triton", ir="ttir", lowered_from="ttir", pipeline="triton",
        shown_stage="ttir",
        decorators=frozenset({"triton.jit", "triton.runtime.jit", "triton.runtime.jit.jit"}),
        names={
            "triton": "triton",
            "tl": "triton.language",
            "tldevice": "triton.language.extra.libdevice",
            "libdevice": "triton.language.extra.libdevice",
            "tl_extra_shim": "triton.language.extra.libdevice",
        },
    ),
    Language(
        name="gluon", title="Gluon", ir="glir", lowered_from="source", pipeline="gluon",
        shown_stage="ttgir", carries_options=True, not_on_cpu=_EACH_THREAD, word="gluon",
        decorators=frozenset({f"{_GLUON}.jit", f"{_GLUON}._runtime.jit"}),
        names={"gluon": _GLUON, "gl": f"{_GLUON}.language"},
        modules=(
            _GLUON, f"{_GLUON}.language",
            f"{_GLUON}.language._semantic", f"{_GLUON}.language.nvidia",
            f"{_GLUON}.language.nvidia.ampere", f"{_GLUON}.language.nvidia.hopper",
            f"{_GLUON}.language.nvidia.hopper.tma", f"{_GLUON}.language.nvidia.blackwell",
            f"{_GLUON}.language.nvidia.blackwell.tma", f"{_GLUON}.language.amd",
            f"{_GLUON}.language.amd.cdna3", f"{_GLUON}.language.amd.cdna5.tdm",
            f"{_GLUON}.nvidia.hopper", f"{_GLUON}.nvidia.blackwell",
        ),
    ),
    Language(
        name="ttir", title="TTIR", ir="ttir", lowered_from="ttir", pipeline="triton",
        shown_stage="ttir",
    ),
    Language(
        name="ttgir", title="TTGIR", ir="ttgir", lowered_from="ttgir", pipeline="triton",
        shown_stage="ttgir", carries_options=True, not_on_cpu=_EACH_THREAD,
    ),
)  # fmt: skip
BY_NAME: Final = {language.name: language for language in LANGUAGES}
BY_IR: Final = {language.ir: language for language in reversed(LANGUAGES)}
"""The language of each IR; that of TTIR is Triton."""
EXECUTED: Final = tuple(language for language in LANGUAGES if language.is_executed)
POSTED: Final = tuple(language for language in LANGUAGES if not language.is_executed)


def titles_with_ttir() -> str:
    """Return the names of the executed languages whose kernels have TTIR, for a sentence."""
    return " and ".join(language.title for language in EXECUTED if language.has_ttir)
