"""DELETE withdraws one caller's interest; the job stops when no interest is left."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from tests.integration.service import bodies
from tests.integration.service.conftest import Post
from tests.integration.service.running import Deployment
from tests.security.tree import descendants, wait_until_dead
from tests.waiting import wait_until

ENDLESS = "while True: pass"
TICKS = 20  # of CPU time, 10 ms each
WAIT_S = 60
AT_ONCE = 3
ROUNDS = 60


def cpu_ticks(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def children_at_work(worker: int, before: dict[int, int]) -> set[int]:
    return {pid for pid in descendants(worker) if cpu_ticks(pid) - before.get(pid, 0) > TICKS}


def test_a_running_job_is_stopped_and_its_child_dies(
    system: Deployment, post: Post, http: httpx.Client
) -> None:
    worker = system.workers[0].pid
    before = {pid: cpu_ticks(pid) for pid in descendants(worker)}
    posted = post(bodies.running(ENDLESS + "  # to be cancelled"), wait=0).json()
    wait_until(lambda: children_at_work(worker, before) != set(), "a child runs the source")
    running = children_at_work(worker, before)

    cancelled = http.delete(posted["url"])

    assert cancelled.status_code == 202
    assert cancelled.json()["state"] == "cancelled"
    wait_until_dead(running)
    assert post(bodies.vector_add("after a cancelled one")).json()["state"] == "succeeded"


def test_a_cancelled_compilation_is_reported_and_never_reused(
    post: Post, http: httpx.Client
) -> None:
    body = bodies.slow(1, "cancelled at first")
    posted = post(body, wait=0).json()
    http.delete(posted["url"])

    reported = http.get(posted["url"]).json()
    again = post(body).json()

    assert reported["state"] == "cancelled"
    assert reported["problem"]["slug"] == "cancelled"
    assert reported["problem"]["retryable"] is True
    assert (again["state"], again["cache"]) == ("succeeded", "miss")


def test_it_is_found_while_it_is_withdrawn_and_posted_again(post: Post, http: httpx.Client) -> None:
    body = bodies.slow(1, "withdrawn and posted again at once")
    url = post(body, wait=0).json()["url"]

    statuses = set()
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for _ in range(ROUNDS):
            posted = threads.submit(post, body, wait=0)
            others = [threads.submit(http.delete, url), threads.submit(http.get, url)]
            statuses |= {answer.result().status_code for answer in (posted, *others)}

    assert statuses <= {200, 202}
    assert post(body).json()["state"] == "succeeded"


def test_waiters_for_a_cancelled_job_are_answered_at_once(post: Post, http: httpx.Client) -> None:
    posted = post(bodies.running(bodies.ENDLESS + "  # waited for, then cancelled"), wait=0).json()
    http.delete(posted["url"])

    answer = http.get(posted["url"], params={"wait": WAIT_S}, timeout=WAIT_S / 2)

    assert answer.json()["state"] == "cancelled"


def test_a_finished_one_stays_as_it_is(post: Post, http: httpx.Client) -> None:
    made = post(bodies.vector_add("finished before")).json()

    deleted = http.delete(made["url"])

    assert deleted.status_code == 200
    assert deleted.json()["state"] == "succeeded"
    assert post(bodies.vector_add("finished before")).json()["cache"] == "hit"


def test_what_never_was_cannot_be_cancelled(http: httpx.Client) -> None:
    assert http.delete(f"/v1/compilations/{'0' * 64}").status_code == 404
