"""Why a variant was not run, or was not run any further: the word, and what it means here."""

from enum import StrEnum

from pydantic import Field

from compiler.compilation import Record, Resources


class Reason(StrEnum):
    """Why a variant is out of a search."""

    SPILLS = "spills"
    DOES_NOT_FIT = "does_not_fit"
    EQUAL_CUBIN = "equal_cubin"
    VERDICT = "verdict"
    """It was run, and is wrong, or was stopped."""
    UNRELIABLE_TIME = "unreliable_time"
    """It was run, and its times cannot be those of its work."""
    SLOWER = "slower"
    BUDGET = "budget"
    """`budget_s` had ended before it was run."""


class Pruned(Record):
    """Why a variant is out of the search; null for those that got to its end."""

    reason: Reason
    detail: str
    variant: int | None = Field(
        default=None, description="equal_cubin: the index of the one that is run for both"
    )


def unfit(resources: Resources | None, *, run_spilling: bool) -> Pruned | None:
    """Return why a kernel that takes `resources` is not worth running, None where it is."""
    if resources is None:
        return None
    if resources.fits is False:
        return Pruned(reason=Reason.DOES_NOT_FIT, detail=_excess(resources))
    if not run_spilling and (spilled := _spilled(resources)):
        return Pruned(reason=Reason.SPILLS, detail=f"it spills {spilled}")
    return None


def _excess(resources: Resources) -> str:
    has, most = resources.shared_bytes, resources.shared_limit_bytes
    if has is not None and most is not None and has > most:
        return f"a block takes {has} bytes of shared memory, and may have {most}"
    threads = "" if resources.threads is None else f" by its {resources.threads} threads"
    registers = "" if resources.registers is None else f": {resources.registers} registers each"
    return f"no multiprocessor holds one of its blocks{registers}{threads}"


def _spilled(resources: Resources) -> str:
    """Return the spills in words; "" if there are none, or if they are unknown."""
    counts = {
        "bytes stored": resources.spill_store_bytes,
        "bytes loaded": resources.spill_load_bytes,
        "vector registers": resources.vgpr_spills,
        "scalar registers": resources.sgpr_spills,
    }
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count)


def equal_cubin(variant: int) -> Pruned:
    """Return that the same is launched for `variant`."""
    detail = f"the same machine code in the same grid as variant {variant}, whose times hold here"
    return Pruned(reason=Reason.EQUAL_CUBIN, detail=detail, variant=variant)


def out_of_budget(budget_s: float) -> Pruned:
    """Return that there was no time for it."""
    detail = f"budget_s = {budget_s:g} had ended before it was run"
    return Pruned(reason=Reason.BUDGET, detail=detail)
