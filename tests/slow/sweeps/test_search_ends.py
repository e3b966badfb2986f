"""Searches that end early: budgets, cancellations, and drivers that die."""

from __future__ import annotations

import time
from typing import Any

import httpx

from benchmarks.gpu.launch_bodies import add
from tests.integration.service.running import Deployment
from tests.sweeps.service.searching import (
    BLOCKS,
    PROGRAMS_ALONE,
    SHORT,
    SIZE,
    base,
    start_worker,
)
from tests.sweeps.service.test_sweeps import post_sweep
from tests.waiting import wait_until


def test_a_budget_ends_the_search_with_what_is_known(gpu: httpx.Client) -> None:
    whole = base(PROGRAMS_ALONE, grid=["PROGRAMS"])
    whole["compilation"] |= {"options": {"num_warps": 4}, "constexprs": {"BLOCK_SIZE": 512}}
    space = {"constexprs": {"PROGRAMS": [2, 4, 7]}}  # the last hangs in its third run
    post_sweep(gpu, base=whole, space=space)  # so that the budget is for launches alone
    sweep = post_sweep(gpu, base=whole, space=space, search=SHORT, budget_s=10).json()
    [winner] = sweep["winners"]

    assert (sweep["state"], sweep["budget_ended"]) == ("completed", True)
    assert [row["verdict"] for row in sweep["rows"]] == ["passed"] * 3
    assert winner["values"]["constexprs.PROGRAMS"] == 4
    assert winner["lead"]["passes"] == 0


def test_a_launch_that_a_budget_ended_is_cancelled(gpu: httpx.Client) -> None:
    whole = base(PROGRAMS_ALONE, grid=["PROGRAMS"], timeout_s=600)
    whole["compilation"] |= {"options": {"num_warps": 4}, "constexprs": {"BLOCK_SIZE": 512}}
    space = {"constexprs": {"PROGRAMS": [9]}}
    sweep = post_sweep(gpu, base=whole, space=space, search=SHORT, budget_s=3).json()
    [row] = sweep["rows"]

    assert (row["state"], row["pruned"]["reason"]) == ("pruned", "budget")
    assert sweep["winners"][0]["note"] == "no variant was timed to the end (budget: 1)"
    free = post_sweep(gpu, base=base(), space={"constexprs": {"BLOCK_SIZE": [256]}}).json()
    assert free["rows"][0]["verdict"] == "passed"


def test_a_search_that_is_cancelled_leaves_the_gpu(gpu: httpx.Client) -> None:
    whole = base(PROGRAMS_ALONE, grid=["PROGRAMS"], timeout_s=600)
    whole["compilation"] |= {"options": {"num_warps": 4}, "constexprs": {"BLOCK_SIZE": 512}}
    space = {"constexprs": {"PROGRAMS": [9]}}  # hangs
    posted = post_sweep(gpu, wait=0, base=whole, space=space, search=SHORT).json()
    wait_until(lambda: gpu.get(posted["url"]).json()["counts"] == {"running": 1}, "it runs")
    assert gpu.delete(posted["url"]).is_success

    assert gpu.get(posted["url"]).json()["state"] == "cancelled"
    free = post_sweep(gpu, base=base(), space={"constexprs": {"BLOCK_SIZE": [256]}}).json()
    assert free["rows"][0]["verdict"] == "passed"


def under_way(gpu: httpx.Client, **more: Any) -> dict[str, Any]:
    """Return a long search that has timed a first variant."""
    space = {"product": BLOCKS | {"options.num_warps": [4]}}
    long = SHORT | {"passes": 8, "finalists": 5}
    posted = post_sweep(gpu, wait=0, base=base(), space=space, search=long, **more).json()

    def sweep() -> dict[str, Any]:
        found: dict[str, Any] = gpu.get(posted["url"]).json()
        return found

    wait_until(lambda: any(row["verdict"] for row in sweep()["rows"]), "a first row")
    found = sweep()
    assert found["state"] == "running", "it was too short"
    return found


def ended(deployment: Deployment, gpu: httpx.Client, sweep: dict[str, Any]) -> dict[str, Any]:
    """Return the sweep once it has ended."""
    wait_until(
        lambda: gpu.get(sweep["url"]).json()["state"] == "completed", "the end", deployment.said
    )
    found: dict[str, Any] = gpu.get(sweep["url"]).json()
    return found


def test_an_interactive_launch_waits_for_no_search(gpu: httpx.Client) -> None:
    sweep = under_way(gpu)
    launch = gpu.post("/v1/launches", params={"wait": 60}, json=add(n_elements=SIZE)).json()

    assert launch["verdict"] == "passed"
    assert gpu.get(sweep["url"]).json()["state"] == "running"
    gpu.delete(sweep["url"])


def test_a_driver_that_was_killed_is_followed_by_one_that_goes_on(
    deployment: Deployment, gpu: httpx.Client
) -> None:
    before = under_way(gpu)
    done = next(row["launch_url"] for row in before["rows"] if row["verdict"])
    launch = gpu.get(done).json()
    deployment.workers.pop().kill()
    start_worker(deployment)
    after = ended(deployment, gpu, before)

    assert after["winners"][0]["values"]["constexprs.BLOCK_SIZE"] == 256
    assert {row["state"] for row in after["rows"]} == {"completed"}
    assert gpu.get(done).json() == launch  # it did not run again


def test_a_driver_that_comes_after_the_budget_answers_what_was_found_out_before(
    deployment: Deployment, gpu: httpx.Client
) -> None:
    budget_s = 10
    posted = time.monotonic()
    before = under_way(gpu, budget_s=budget_s)
    deployment.workers.pop().kill()
    wait_until(lambda: time.monotonic() > posted + budget_s, "the end of the budget")
    start_worker(deployment)
    after = ended(deployment, gpu, before)

    assert after["budget_ended"] is True
    timed = [row["index"] for row in before["rows"] if row["median_us"]]
    assert all(after["rows"][index]["median_us"] for index in timed)
