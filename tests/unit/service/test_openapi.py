"""The OpenAPI document describes the purpose and the errors of every operation."""

import asyncio
import json
import threading
from typing import Any

import pytest

from service.http.openapi_document import OpenApiDocument
from tests.unit.service.applications import application, document

DOCUMENT: dict[str, Any] = document()
OPERATIONS = {
    f"{method.upper()} {path}": operation
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
}


def test_every_operation_has_a_summary():
    assert [name for name, operation in OPERATIONS.items() if not operation["summary"]] == []


def test_an_operation_names_its_problems(subtests: pytest.Subtests):
    finished = (
        "/tape",
        "/artifacts",
        "/lines",
        "/instructions",
        "/diff/",
        "/passes",
        "/layouts",
        "/exports",
    )
    for name in OPERATIONS.keys() - {"GET /healthz", "HEAD /healthz"}:
        responses = OPERATIONS[name]["responses"]
        is_of_one = "{" in name or name.endswith(("/query", "/tasks/batch"))
        with subtests.test(operation=name):
            if not name.startswith("HEAD"):
                assert responses["503"]["content"].keys() == {"application/problem+json"}
            assert ("404" in responses) == is_of_one
            assert ("409" in responses) == any(part in name for part in finished)
            assert "421" in responses
            assert ("413" in responses) == name.startswith(("POST", "PUT"))


@pytest.mark.parametrize(
    "name",
    [
        "POST /v1/compilations",
        "POST /v1/inspect",
        "POST /v1/launches",
        "POST /v1/programs",
        "POST /v1/batches",
    ],
)
def test_every_posted_body_has_an_example(name: str):
    [content] = OPERATIONS[name]["requestBody"]["content"].values()

    assert content["examples"]


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("GET /v1/compilations/{key}/artifacts/{stage}", "text/x-mlir"),
        ("GET /v1/compilations/{key}/exports/{format}", "text/rust"),
        ("GET /v1/compilations/{key}/events", "text/event-stream"),
        ("GET /v1/blobs/{digest}", "application/octet-stream"),
        ("GET /v1/launches/{launch_id}/outputs/{argument}", "application/x-npy"),
        ("GET /v1/launches/{launch_id}/events", "text/event-stream"),
        ("GET /v1/batches/{batch_id}/events", "text/event-stream"),
        ("GET /v1/programs/{program_id}/events", "text/event-stream"),
        ("GET /v1/tensors/{digest}", "application/x-npy"),
        ("GET /metrics", "text/plain"),
    ],
)
def test_bytes_are_not_called_json(name: str, media_type: str):
    content = OPERATIONS[name]["responses"]["200"]["content"]

    assert media_type in content
    assert "application/json" not in content


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("POST /v1/launches", "Idempotency-Key"),
        ("POST /v1/programs", "Idempotency-Key"),
        ("GET /v1/compilations/{key}/events", "Last-Event-ID"),
        ("GET /v1/launches/{launch_id}/events", "Last-Event-ID"),
    ],
)
def test_headers_that_mean_something_are_named(name: str, header: str):
    parameters = OPERATIONS[name]["parameters"]

    assert header in [parameter["name"] for parameter in parameters if parameter["in"] == "header"]


@pytest.mark.parametrize("model", ["CompileRequest", "LaunchRequest", "TimingRequest", "Reference"])
def test_every_field_of_a_request_is_described(model: str):
    fields = DOCUMENT["components"]["schemas"][model]["properties"]

    assert [name for name, field in fields.items() if not field.get("description")] == []


def test_every_schema_that_is_named_is_there():
    def named(part: Any) -> set[str]:
        if isinstance(part, dict):
            own = {part["$ref"]} if isinstance(part.get("$ref"), str) else set()
            return own.union(*(named(item) for item in part.values()))
        return set().union(*map(named, part)) if isinstance(part, list) else set()

    known = {
        f"#/components/{kind}/{name}"
        for kind in ("schemas", "headers")
        for name in DOCUMENT["components"][kind]
    }
    assert named(DOCUMENT) <= known


def test_a_bearer_key_is_the_way_in():
    assert DOCUMENT["components"]["securitySchemes"]["key"] == {"type": "http", "scheme": "bearer"}


def test_head_is_documented_wherever_get_is():
    gets = {name.removeprefix("GET ") for name in OPERATIONS if name.startswith("GET ")}

    assert gets == {name.removeprefix("HEAD ") for name in OPERATIONS if name.startswith("HEAD ")}
    assert len({operation["operationId"] for operation in OPERATIONS.values()}) == len(OPERATIONS)


async def test_the_document_is_made_once_and_beside_the_event_loop(monkeypatch):
    threads = []
    app = application()
    generate = app.openapi

    def noted():
        threads.append(threading.current_thread())
        return generate()

    monkeypatch.setattr(app, "openapi", noted)
    document = OpenApiDocument(app, lambda path: True)

    first, second = await asyncio.gather(document.read(), document.read())

    assert first is second
    assert [thread is threading.main_thread() for thread in threads] == [False]


async def read(name: str) -> dict[str, Any]:
    found: OpenApiDocument = getattr(application().state, name)
    return json.loads(await found.read())


async def test_apis_of_other_projects_are_in_a_document_of_their_own():
    core, adapters = await read("document"), await read("adapters_document")

    assert core["paths"].keys() | adapters["paths"].keys() == DOCUMENT["paths"].keys()
    assert {path for path in core["paths"] if path.startswith("/v1/")} == {
        path for path in DOCUMENT["paths"] if path.startswith("/v1/")
    }
    assert not core["paths"].keys() & adapters["paths"].keys()
    assert {"/kernelgym/evaluate", "/kernelgym/status/{task_id}"} <= adapters["paths"].keys()
    assert not {"evaluators", "compiler explorer"} & {tag["name"] for tag in core["tags"]}
    assert "KernelGymTask" in adapters["components"]["schemas"]
    assert "KernelGymTask" not in core["components"]["schemas"]
    assert "LaunchRequest" not in adapters["components"]["schemas"]


def test_operations_have_short_names():
    named = {name: operation["operationId"] for name, operation in OPERATIONS.items()}

    assert named["POST /v1/launches"] == "create_launch"
    assert named["GET /v1/launches"] == "list_launches"
    assert named["GET /kernelgym/status/{task_id}"] == "get_kernelgym_status_task_id"


def test_events_are_told_apart_by_their_name():
    schemas = DOCUMENT["components"]["schemas"]
    union = schemas["LaunchEvent"]

    assert union["discriminator"]["propertyName"] == "event"
    assert union["discriminator"]["mapping"]["case"] == "#/components/schemas/CaseEvent"
    assert schemas["FinishedEvent"]["properties"]["event"]["const"] == "finished"
    assert "problem" in schemas["CaseEvent"]["properties"]["data"]["properties"]


def test_unions_of_objects_name_what_tells_them_apart():
    items = DOCUMENT["components"]["schemas"]["Abi"]["properties"]["parameters"]["items"]

    assert items["discriminator"]["mapping"]["tensormap"].endswith("/TensorMapParameter")


@pytest.mark.parametrize(
    ("schema", "field", "unit"),
    [
        ("LaunchRequest", "timeout_s", "seconds"),
        ("Timing", "median_us", "microseconds"),
        ("Artifact", "size_bytes", "bytes"),
        ("Timing", "bytes_per_s", "bytes per second"),
    ],
)
def test_a_field_with_a_unit_in_its_name_says_it(schema: str, field: str, unit: str):
    found = DOCUMENT["components"]["schemas"][schema]["properties"][field]

    assert found["description"].endswith(unit)


@pytest.mark.parametrize(
    ("name", "status", "headers"),
    [
        ("POST /v1/compilations", "200", {"Location", "Cache-Status", "Server-Timing"}),
        ("POST /v1/launches", "202", {"Location", "Retry-After", "Preference-Applied"}),
        ("GET /v1/launches/{launch_id}", "200", {"ETag", "Cache-Control"}),
        ("GET /v1/launches/{launch_id}", "304", {"ETag"}),
        ("GET /v1/targets", "503", {"Retry-After", "X-Request-ID"}),
    ],
)
def test_an_answer_names_its_headers(name: str, status: str, headers: set[str]):
    assert headers <= OPERATIONS[name]["responses"][status]["headers"].keys()


def test_the_document_names_its_server():
    assert [server["url"] for server in DOCUMENT["servers"]] == ["/"]
