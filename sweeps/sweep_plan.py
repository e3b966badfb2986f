"""The plan of a sweep: a base, its axes, and which of their values each variant has.

Made once, by the service, and kept with the sweep's job, so that every attempt at it, whatever its
version, does the same variants under the same indices.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, model_validator

from sweeps.variant import Kind, Variant, merged_body

ABSENT = -1
"""In place of a value's index: the variant keeps the base's value."""
MAX_VARIANTS: Final = 100_000
"""The limit for any sweep; a deployment may allow fewer."""
MAX_AXES: Final = 2048
"""The limit for axes, with those of the source's autotuner."""


class SweptAxis(BaseModel):
    """One axis: `values` as the table shows them, `contents` what these mean, if more.

    `is_computed` where a heuristic of the source gives each variant its value.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    values: list[Any]
    contents: list[Any] | None = None
    is_computed: bool = False

    def content(self, index: int) -> Any:
        """Return what the value at `index` puts into the request."""
        return (self.values if self.contents is None else self.contents)[index]


class SweepPlan(BaseModel):
    """All variants of a sweep; `chosen` has for each of them a value's index by axis."""

    model_config = ConfigDict(frozen=True)

    kind: Kind
    base: dict[str, Any]
    axes: Annotated[list[SweptAxis], Field(max_length=MAX_AXES)]
    chosen: Annotated[list[list[int]], Field(max_length=MAX_VARIANTS)]

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> Self:
        """Refuse a plan out of a store whose variants choose values that there are not."""
        if info.mode != "json" or not self.chosen:
            return self
        if any(len(each) != len(self.axes) for each in self.chosen):
            raise ValueError("a variant has another number of axes than the plan")
        for axis, indices in zip(self.axes, zip(*self.chosen, strict=True), strict=True):
            if not ABSENT <= min(indices) <= max(indices) < len(axis.values):
                raise ValueError(f"axis {axis.name[:100]} has no such value")
            if axis.contents is not None and len(axis.contents) != len(axis.values):
                raise ValueError(f"axis {axis.name[:100]} does not define what its values mean")
        return self

    def __len__(self) -> int:
        return len(self.chosen)

    def variant(self, index: int) -> Variant:
        """Return the variant of row `index`."""
        pairs = [
            (axis, at)
            for axis, at in zip(self.axes, self.chosen[index], strict=True)
            if at != ABSENT
        ]
        changes = {axis.name: axis.content(at) for axis, at in pairs}
        return Variant(index, self.values(index), merged_body(self.base, self.kind, changes))

    def variants(self) -> Iterator[Variant]:
        """Yield all variants in order."""
        return (self.variant(index) for index in range(len(self)))

    def values(self, index: int) -> dict[str, Any]:
        """Return the values of row `index` by axis, null where it keeps the base's value."""
        return {
            axis.name: None if at == ABSENT else axis.values[at]
            for axis, at in zip(self.axes, self.chosen[index], strict=True)
        }
