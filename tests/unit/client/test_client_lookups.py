"""Lookups by key: compilations, artifacts, and documents about the deployment."""

import pytest
from tritonc import AsyncClient, Client, CompileFailed, ProblemError, WaitExpired

from tests.unit.client.fake_tritond import KEY, FakeTritond, compilation, failure


def test_get_returns_the_present_state_at_once(client: Client, tritond: FakeTritond):
    tritond.will_answer(compilation("running", cache=None))

    assert client.get(KEY).state == "running"
    assert str(tritond.requests[0].url) == f"http://tritond.test:8000/v1/compilations/{KEY}"


def test_get_waits_as_long_as_requested(client: Client, tritond: FakeTritond):
    tritond.will_answer(compilation("running", cache=None))
    tritond.will_answer(compilation(cache=None))

    assert client.get(KEY, wait_s=5).succeeded


def test_waiting_ends_with_the_state_that_there_is(
    client: Client, tritond: FakeTritond, pauses: list[float]
):
    for _ in range(4):
        tritond.will_answer(compilation("running", cache=None))

    assert client.get(KEY, wait_s=0.6).state == "running"
    assert pauses == pytest.approx([0.25, 0.25, 0.1])


def test_get_does_not_raise_for_a_failed_compilation(client: Client, tritond: FakeTritond):
    tritond.will_answer(failure())

    failed = client.get(KEY)

    assert failed.state == "failed"
    with pytest.raises(CompileFailed):
        failed.raise_unless_succeeded()


def test_a_key_cannot_lead_to_another_path(client: Client, tritond: FakeTritond):
    tritond.will_refuse(404, "not_found")

    with pytest.raises(ProblemError):
        client.get("../system?x=")

    assert tritond.requests[0].url.raw_path == b"/v1/compilations/..%2Fsystem%3Fx%3D"


def test_artifact_returns_the_raw_bytes(client: Client, tritond: FakeTritond):
    tritond.will_send(b"\x7fELF\0", content_type="application/octet-stream")

    assert client.artifact(KEY, "cubin") == b"\x7fELF\0"
    assert tritond.requests[0].url.path == f"/v1/compilations/{KEY}/artifacts/cubin"


def test_an_artifact_made_on_demand_is_waited_for(client: Client, tritond: FakeTritond):
    tritond.will_answer({}, status=202)
    tritond.will_send(b"MOV R1, c[0x0][0x28]")

    assert client.artifact(KEY, "sass").startswith(b"MOV")


def test_an_artifact_that_is_not_made_in_time_raises(client: Client, tritond: FakeTritond):
    tritond.will_answer({}, status=202)

    with pytest.raises(WaitExpired, match="sass is not ready"):
        client.artifact(KEY, "sass", wait_s=0)


def test_a_stage_that_was_not_reached_is_a_problem(client: Client, tritond: FakeTritond):
    tritond.will_refuse(404, "stage_not_reached", detail="it stopped after ttir")

    with pytest.raises(ProblemError, match="404 stage_not_reached: it stopped after ttir"):
        client.artifact(KEY, "ptx")


def test_cancel_withdraws_interest(client: Client, tritond: FakeTritond):
    tritond.will_answer(compilation("cancelled"), status=202)

    assert client.cancel(KEY).state == "cancelled"
    assert tritond.requests[0].method == "DELETE"


def test_targets_and_system_are_passed_on_as_they_are(client: Client, tritond: FakeTritond):
    tritond.will_answer({"toolchains": []})
    tritond.will_answer({"version": "0.1.0"})

    assert client.targets() == {"toolchains": []}
    assert client.system() == {"version": "0.1.0"}


async def test_the_async_client_makes_the_same_requests(tritond: FakeTritond):
    tritond.will_answer(compilation("running"), status=202)
    tritond.will_answer(compilation(cache=None))
    tritond.will_send(b"//ptx")

    async with AsyncClient(transport=tritond) as client:
        made = await client.compile("", target="cuda:90")
        ptx = await client.artifact(made.key, "ptx")

    assert [request.method for request in tritond.requests] == ["POST", "GET", "GET"]
    assert made.succeeded
    assert ptx == b"//ptx"


async def test_the_async_client_raises_the_same_errors(tritond: FakeTritond):
    tritond.will_answer(failure())

    async with AsyncClient(transport=tritond) as client:
        with pytest.raises(CompileFailed, match="'maks' is not defined"):
            await client.compile("", target="cuda:90")
