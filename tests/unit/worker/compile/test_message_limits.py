"""A message is read as the record that it was written as, and only within its limits."""

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from worker.compile.message_limits import MessageLimits
from worker.compile.reports import Malformed

SHORT = Annotated[str, Field(max_length=4)]
LIMITS = MessageLimits({str: SHORT, int: Annotated[int, Field(ge=0, le=9)]})


@dataclass(frozen=True, kw_only=True)
class Place:
    file: str
    line: int


@dataclass(frozen=True, kw_only=True)
class Visit:
    kind: Literal["read", "write"]
    places: list[Place] = field(default_factory=list)
    is_last: bool | None = None


PLACES = Annotated[list[LIMITS.within(Place)], Field(max_length=2)]  # type: ignore[misc]
read = LIMITS.reader(Visit, places=PLACES, may_lack=["is_last"])
PLACE = {"file": "a.py", "line": 3}


def test_a_message_is_read_as_its_record():
    visit = read({"kind": "read", "places": [PLACE]})

    assert visit == Visit(kind="read", places=[Place(file="a.py", line=3)])


@pytest.mark.parametrize(
    "members",
    [
        {"places": []},
        {"kind": "read"},
        {"kind": "guess", "places": []},
        {"kind": "read", "places": [PLACE] * 3},
        {"kind": "read", "places": [PLACE | {"file": "a long name"}]},
        {"kind": "read", "places": [PLACE | {"line": 10}]},
        {"kind": "read", "places": [PLACE | {"line": "3"}]},
        {"kind": "read", "places": [{"file": "a.py"}]},
        {"kind": "read", "places": [], "is_last": 1},
    ],
)
def test_a_message_outside_its_limits_is_refused(members: dict[str, Any]):
    with pytest.raises(Malformed):
        read(members)


def test_a_member_without_a_limit_is_an_error():
    with pytest.raises(TypeError, match=r"Place\.line has no limit"):
        MessageLimits({str: SHORT}).reader(Place)
    with pytest.raises(TypeError, match=r"Visit\.places has no limit"):
        LIMITS.reader(Visit)


def test_a_limit_of_a_member_that_a_message_does_not_have_is_an_error():
    with pytest.raises(TypeError, match="Place has no member column"):
        LIMITS.reader(Place, column=int)
