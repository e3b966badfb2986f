"""A worker tests its targets once, and stores the result."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from store.workers import Toolchains
from worker.compile.toolchain_identity import identify
from worker.pool.child_outcome import ChildOutcome, Ending

OPTIONS = {"cuda": {"num_warps": {"type": "int", "default": 4}}, "hip": {}}


@dataclass
class FakePool:
    """Fakes children: describes `triton`, and compiles for one target."""

    triton: str = "3.9.0"
    facts: dict[str, Any] = field(default_factory=lambda: {"policy": "walls", "pipeline": "code"})
    tried: list[str] = field(default_factory=list)

    async def run(self, _: str, header: dict[str, Any], __: bytes, **___: Any) -> ChildOutcome:
        if header["task"] == "describe":
            said = {
                "triton": self.triton,
                "ptxas": "",
                "host_arch": "",
                "options": OPTIONS,
                "language": [],
            }
            return ended(Ending.OK, {"kind": "result", **said})
        target = header["target"]
        self.tried.append(f"{target['backend']}:{target['arch']}")
        return ended(Ending.OK if target["arch"] == 90 else Ending.SIGNAL)


def ended(ending: Ending, result: dict[str, Any] | None = None) -> ChildOutcome:
    return ChildOutcome(ending, "", (), result, None, b"", b"", None, None, None)


@pytest.fixture
def toolchains(redis):
    return Toolchains(redis)


async def identified(pool, toolchains):
    return await identify(pool, "strict", toolchains)


async def test_targets_are_tried_once(toolchains):
    first, again = FakePool(), FakePool()

    made = await identified(first, toolchains)

    assert made.targets == ["cuda:90"]
    assert "hip:gfx942" in first.tried
    assert await identified(again, toolchains) == made
    assert again.tried == []


@pytest.mark.parametrize(
    "other",
    [
        FakePool(triton="3.8.0"),
        FakePool(facts={"policy": "others", "pipeline": "code"}),
        FakePool(facts={"policy": "walls", "pipeline": "other code"}),
    ],
    ids=["Triton", "walls", "code"],
)
async def test_another_triton_other_walls_or_other_code_is_another_toolchain(toolchains, other):
    known = await identified(FakePool(), toolchains)
    found = await identified(other, toolchains)

    assert found.id != known.id
    assert other.tried
