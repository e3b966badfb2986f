"""The policy has a digest, so two workers can tell whether they run the same one."""

from dataclasses import replace

from worker.sandbox.profile import PROFILES, file_rules, policy_digest


def test_the_digest_changes_with_a_single_call_or_limit():
    front = PROFILES["front"]
    looser = replace(front, calls=front.calls | {"openat"})
    larger = replace(front, limits=replace(front.limits, memory_bytes=1))
    digests = {policy_digest({**PROFILES, "front": each}) for each in (front, looser, larger)}
    assert len(digests) == 3


def test_children_that_see_user_code_may_reach_no_file():
    assert file_rules(PROFILES["parse"]) == []
    assert file_rules(PROFILES["front"]) == []
    assert file_rules(PROFILES["record"]) == []
