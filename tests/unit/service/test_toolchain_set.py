"""The toolchains of a deployment: one set, with a digest that no other set has."""

import pytest

from compiler.rejection import RequestRejected
from compiler.toolchain import Toolchain
from service.http.problems import ProblemRaised
from service.toolchains import ToolchainSet, toolchain_set


def toolchain(name: str, triton: str) -> Toolchain:
    fields = {"ptxas": "13", "host_arch": "x86_64", "targets": [], "options": {}}
    return Toolchain(id=name, triton=triton, sandbox="strict", **fields)


NEW, OLD, OLDER = toolchain("n", "3.9.0"), toolchain("o", "3.8.0"), toolchain("p", "3.8.0")


def test_a_request_without_a_version_gets_the_default():
    assert ToolchainSet(OLD, [OLD, NEW]).choose(None) is OLD


def test_of_several_with_a_version_the_last_one_offered_counts():
    assert ToolchainSet(NEW, [OLDER, OLD, NEW]).choose("3.8.0") is OLD
    assert ToolchainSet(NEW, [OLD, OLDER, NEW]).choose("3.8.0") is OLDER


def test_the_default_is_what_its_own_version_means():
    assert ToolchainSet(OLDER, [OLDER, OLD]).choose("3.8.0") is OLDER


def test_a_short_version_is_the_newest_that_begins_with_it():
    newer = toolchain("q", "3.8.10")
    assert ToolchainSet(NEW, [newer, OLD, NEW]).choose("3.8") is newer
    assert ToolchainSet(OLDER, [OLDER, OLD, NEW]).choose("3.8") is OLDER
    assert ToolchainSet(NEW, [OLD, NEW]).choose("3") is NEW


@pytest.mark.parametrize("earlier", ["3.8.9", "3.8.10rc1", "3.8.10.dev3"])
def test_a_version_is_newer_than_what_was_tried_before_it(earlier):
    final = toolchain("q", "3.8.10")
    assert ToolchainSet(NEW, [final, toolchain("r", earlier), NEW]).choose("3.8") is final


def test_a_version_that_no_worker_has_is_refused_with_a_list_of_versions():
    with pytest.raises(RequestRejected, match=r"choose one of 3\.8\.0, 3\.9\.0"):
        ToolchainSet(NEW, [OLD, NEW]).choose("3.7.0")


def test_without_any_toolchain_nothing_can_be_chosen():
    with pytest.raises(ProblemRaised, match="No worker has registered yet"):
        ToolchainSet().choose(None)


@pytest.mark.parametrize(
    "other",
    [
        ToolchainSet(),
        ToolchainSet(OLD, [OLDER, OLD, NEW]),
        ToolchainSet(NEW, [OLD, OLDER, NEW]),
        ToolchainSet(NEW, [NEW]),
    ],
)
def test_another_default_or_another_toolchain_of_a_version_is_another_set(other):
    assert other.digest != ToolchainSet(NEW, [OLDER, OLD, NEW]).digest


def test_a_worker_that_comes_back_does_not_change_the_set():
    assert ToolchainSet(NEW, [NEW, OLD]).digest == ToolchainSet(NEW, [OLD, NEW]).digest


def test_a_toolchain_of_the_same_version_replaces_an_unserved_default():
    assert toolchain_set("p", [OLDER, OLD, NEW], {"o", "n"}).default is OLD
    assert toolchain_set("p", [OLDER, OLD, NEW], {"p", "o", "n"}).default is OLDER


def test_a_default_whose_version_no_worker_serves_stays():
    assert toolchain_set("o", [OLD, NEW], {"n"}).default is OLD
    assert toolchain_set("o", [OLD, NEW], set()).default is OLD


def test_of_several_with_a_version_one_that_is_served_counts():
    assert toolchain_set("n", [OLDER, OLD, NEW], {"n", "p"}).choose("3.8.0") is OLDER


def test_without_a_default_there_is_none():
    assert toolchain_set(None, [NEW], {"n"}).default is None
