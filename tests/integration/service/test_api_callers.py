"""Permissions, queue limits, and the effects of one caller's disconnect on another."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from service.__main__ import main
from tests.integration.service import bodies
from tests.integration.service.running import Deployment, free_port

COMPILATIONS = "/v1/compilations"


def post(client: httpx.Client, comment: str, **changes: Any) -> httpx.Response:
    return client.post(COMPILATIONS, json=bodies.vector_add(comment, **changes))


@pytest.mark.parametrize(
    "header", [None, "Bearer wrong", "Bearer", "Basic YTpi", "Bearer " + "x" * 1000]
)
def test_without_a_valid_key_there_is_401(idle: Deployment, header: str | None) -> None:
    headers = {"authorization": header} if header else {}
    with idle.client(**headers) as http:
        answer = http.post(COMPILATIONS, json=bodies.good("vector_add"))

    assert answer.status_code == 401
    assert answer.json()["slug"] == "unauthorized"
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("caller", "method", "path"),
    [
        ("runner", "POST", COMPILATIONS),
        ("runner", "GET", f"{COMPILATIONS}/{'0' * 64}"),
        ("alice", "GET", "/v1/workers"),
        ("alice", "GET", "/metrics"),
    ],
)
def test_without_the_scope_there_is_403(
    callers: dict[str, httpx.Client], caller: str, method: str, path: str
) -> None:
    answer = callers[caller].request(method, path)

    assert (answer.status_code, answer.json()["slug"]) == (403, "forbidden")


@pytest.mark.parametrize("path", ["/v1/workers", "/metrics", "/v1/targets", "/v1/system"])
def test_an_admin_may_everything(callers: dict[str, httpx.Client], path: str) -> None:
    assert callers["admin"].get(path).status_code == 200


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/openapi.json", "/docs"])
def test_probes_and_documentation_need_no_key(idle: Deployment, path: str) -> None:
    with idle.client() as http:
        assert http.get(path).status_code == 200


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_probes_may_ask_without_wanting_the_body(idle: Deployment, path: str) -> None:
    with idle.client() as http:
        answer = http.head(path)

    assert (answer.status_code, answer.content) == (200, b"")


def test_a_known_toolchain_without_a_worker_queues(callers: dict[str, httpx.Client]) -> None:
    first, second = post(callers["alice"], "queued 1"), post(callers["alice"], "queued 2")

    assert first.status_code == second.status_code == 202
    assert first.json()["state"] == "queued"
    assert (first.json()["queue_position"], second.json()["queue_position"]) == (1, 2)


def test_interactive_requests_go_before_batch_ones(callers: dict[str, httpx.Client]) -> None:
    batch = post(callers["alice"], "no hurry", priority="batch").json()
    interactive = post(callers["bob"], "now").json()

    assert interactive["queue_position"] == 1
    assert callers["alice"].get(batch["url"]).json()["queue_position"] == 2


def test_one_of_two_callers_who_leaves_does_not_end_the_work(
    callers: dict[str, httpx.Client],
) -> None:
    url = post(callers["alice"], "wanted by two").json()["url"]
    joined = post(callers["bob"], "wanted by two")

    left = callers["alice"].delete(url)
    state_for_bob = callers["bob"].get(url).json()["state"]
    last = callers["bob"].delete(url)

    assert joined.headers["cache-status"] == "tritond; collapsed"
    assert left.status_code == 202
    assert left.json()["state"] == state_for_bob == "queued"
    assert (last.status_code, last.json()["state"]) == (202, "cancelled")


def test_a_stranger_cannot_cancel(callers: dict[str, httpx.Client]) -> None:
    url = post(callers["alice"], "alice's").json()["url"]

    callers["bob"].delete(url)

    assert callers["alice"].get(url).json()["state"] == "queued"


def test_namespaces_share_nothing(callers: dict[str, httpx.Client]) -> None:
    one, other = post(callers["alice"], "the same"), post(callers["eve"], "the same")

    assert other.json()["cache"] == "miss"
    assert other.json()["key"] != one.json()["key"]


@pytest.mark.parametrize("below", ["", "/request", "/events", "/artifacts/ttir", "/lines"])
def test_a_caller_with_another_namespace_s_key_finds_nothing(
    callers: dict[str, httpx.Client], below: str
) -> None:
    url = post(callers["alice"], "alice's team's").json()["url"]

    answer = callers["eve"].get(url + below)

    assert (answer.status_code, answer.json()["slug"]) == (404, "not_found")
    assert callers["bob"].get(url).status_code == 200


def test_a_caller_with_another_namespace_s_key_cannot_cancel(
    callers: dict[str, httpx.Client],
) -> None:
    url = post(callers["alice"], "alice's team's own").json()["url"]

    assert callers["eve"].delete(url).status_code == 404

    assert callers["alice"].get(url).json()["state"] == "queued"


def test_one_caller_may_queue_so_much(callers: dict[str, httpx.Client]) -> None:
    answers = [post(callers["alice"], f"many {number}") for number in range(5)]

    assert [answer.status_code for answer in answers] == [202] * 4 + [429]
    assert answers[-1].json()["slug"] == "too_many_requests"
    assert answers[-1].json()["limit"] == 4
    assert int(answers[-1].headers["retry-after"]) > 0
    assert post(callers["bob"], "few").status_code == 202


def test_the_queue_may_grow_so_long(callers: dict[str, httpx.Client]) -> None:
    for name in ("alice", "bob"):
        for number in range(3):
            assert post(callers[name], f"{name} {number}").status_code == 202

    full = post(callers["bob"], "one too many")

    assert (full.status_code, full.json()["slug"]) == (503, "queue_full")
    assert int(full.headers["retry-after"]) > 0
    assert post(callers["bob"], "alice 0").status_code == 202, "a join is never refused"


def refusal(monkeypatch: pytest.MonkeyPatch, **settings: str) -> int:
    """Start the service in this process, with settings that it refuses; return its status."""
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_an_open_address_without_keys_is_refused(
    system: Deployment, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    status = refusal(monkeypatch, TRITOND_REDIS_URL=system.redis_url, TRITOND_HOST="0.0.0.0")

    assert status == 2
    assert "refusing to listen on 0.0.0.0" in caplog.text
    assert "tritond key create" in caplog.text


def test_a_store_that_is_not_there_is_said_without_its_password(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"redis://:secret-password@127.0.0.1:{free_port()}/0"

    status = refusal(monkeypatch, TRITOND_REDIS_URL=url)

    assert status == 3
    assert "TRITOND_REDIS_URL" in caplog.text
    assert "secret-password" not in caplog.text
    assert "Traceback" not in caplog.text


def test_queue_lengths_of_all_namespaces_are_for_admins(callers: dict[str, httpx.Client]) -> None:
    assert callers["admin"].get("/v1/system").json()["queues"]
    assert callers["eve"].get("/v1/system").json()["queues"] is None


def test_metrics_show_every_lane_without_a_worker(callers: dict[str, httpx.Client]) -> None:
    lanes = callers["admin"].get("/v1/system").json()["queues"]
    post(callers["alice"], "in metrics")
    text = callers["admin"].get("/metrics").text

    [queued] = [lane for lane in lanes if f'tritond_queued_jobs{{lane="{lane}"}} 1.0' in text]
    assert queued.startswith("compile:")
    assert all(f'tritond_queue_oldest_wait_seconds{{lane="{lane}"}} ' in text for lane in lanes)
    assert f'tritond_queue_oldest_wait_seconds{{lane="{queued}"}} 0.0\n' not in text
