"""The policy has a digest, so two workers can tell whether they run the same one."""

from dataclasses import replace

from worker.sandbox.profile import PROFILES, file_rules, policy_digest


def test_the_digest_changes_with_a_single_call_or_limit():
    front = PROFILES["front"]
    looser = replace(front, calls=front.calls | {"openat"})
    larger = replace(front, limits=replace(front.limits, memory_bytes=1))
    digests = {policy_digest({**PROFILES, "front": each}) for each in (front, looser, larger)}
    assert len(digests) == 3


def test_only_the_back_end_may_reach_files():
    assert [name for name, profile in PROFILES.items() if file_rules(profile)] == ["back"]
