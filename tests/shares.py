"""The share of a long suite that one run takes: every third case of large tests, or every third
test where each takes long.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence

NAMED = os.environ.get("TRITOND_TEST_SHARE", "0/1")
"""`part/parts`, or `part/parts tests`, which counts tests instead of the cases of each.

`.ci/run` sets it for the longest suites, to another part from commit to commit.
"""
MANY = 10
"""A test with no more cases than this runs them all."""


def in_share(tests: Sequence[str], share: str = NAMED) -> list[bool]:
    """Return for each name of a test, such as `file::test[case]`, whether it is in the share."""
    fraction, _, counted = share.partition(" ")
    part, parts = (int(number) for number in fraction.split("/"))
    if counted == "tests":
        return [index % parts == part for index in range(len(tests))]
    cases = Counter(test.partition("[")[0] for test in tests)
    seen = Counter[str]()
    kept = []
    for test in tests:
        name = test.partition("[")[0]
        kept.append(cases[name] <= MANY or seen[name] % parts == part)
        seen[name] += 1
    return kept


def examples(wanted: int, share: str = NAMED) -> int:
    """Return the number of generated examples in the share."""
    return -(-wanted // int(share.partition(" ")[0].partition("/")[2]))
