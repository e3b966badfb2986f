"""Every operation of the service's own API has a method of the client, or a reason why not."""

from __future__ import annotations

from tritonc import Client

from tests.unit.service.applications import document

METHODS = {
    "create_compilation": "compile",
    "list_compilations": "list",
    "get_compilation": "get",
    "delete_compilation": "cancel",
    "get_request": "request",
    "get_why": "why",
    "get_sass": "sass",
    "get_numpy": "numpy",
    "get_lines": "lines",
    "get_instructions": "instructions",
    "get_explanation": "explain",
    "get_passes": "passes",
    "get_layouts": "layouts",
    "get_export": "export",
    "get_diff": "diff",
    "get_artifact": "artifact",
    "get_events": "events",
    "create_inspection": "inspect",
    "create_launch": "launch",
    "list_launches": "list",
    "query_launches": "launches.query",
    "get_launch": "launches.get",
    "delete_launch": "launches.cancel",
    "get_output": "launches.output",
    "get_trace": "launches.trace",
    "get_launch_events": "launches.events",
    "put_tensor": "tensors.put",
    "get_tensor": "tensors.get",
    "delete_tensor": "tensors.delete",
    "head_get_tensor": "tensors.has",
    "create_batch": "batches.submit",
    "list_batches": "list",
    "get_batch": "batches.get",
    "delete_batch": "batches.cancel",
    "get_batch_events": "batches.events",
    "get_targets": "targets",
    "get_language": "language",
    "get_lessons": "lessons",
    "get_devices": "devices",
    "get_workers": "workers",
    "get_system": "system",
    "get_usage": "usage",
    "create_program": "program",
    "list_programs": "list",
    "get_program": "programs.get",
    "delete_program": "programs.cancel",
    "get_tape": "programs.tape",
    "get_receipt": "programs.receipt",
    "get_program_events": "programs.events",
    "get_bundle": "programs.bundle",
    "create_sweep": "sweep",
    "list_sweeps": "list",
    "get_sweep": "sweeps.get",
    "delete_sweep": "sweeps.cancel",
    "get_sweep_events": "sweeps.events",
    "get_winners": "sweeps.winners",
    "create_proof": "prove",
    "list_proofs": "list",
    "get_proof": "proofs.get",
    "delete_proof": "proofs.cancel",
    "get_proof_events": "proofs.events",
}
WITHOUT = {
    "get_blob": "`artifact` has the same bytes, by the key that callers know",
    "put_state": "the page's short links",
    "get_state": "the page's short links",
}


def test_every_operation_has_a_method_or_a_reason() -> None:
    operations = {
        operation["operationId"]
        for path, methods in document()["paths"].items()
        for operation in methods.values()
        if path.startswith("/v1/")
    }
    asked = {name for name in operations if not name.startswith("head_")} | {"head_get_tensor"}

    assert asked == METHODS.keys() | WITHOUT.keys()


def test_the_methods_are_there() -> None:
    with Client("http://127.0.0.1:1") as client:
        for name in METHODS.values():
            found: object = client
            for part in name.split("."):
                found = getattr(found, part)
            assert callable(found), name
