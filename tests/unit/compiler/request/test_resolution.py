"""A request resolves to one job, or to all reasons for its refusal."""

from typing import Any

import pytest

from compiler.rejection import RequestRejected
from compiler.request.resolution import specialized_job
from compiler.specialization import Specialization, SpecializedParameter
from tests.unit.compiler.vector_add import TOOLCHAIN, job


def test_a_job_holds_everything_resolved():
    resolved = job(target="cuda:90:32", options={"num_warps": 8}, timeout_s=5)

    assert resolved.target_name == "cuda:90"
    assert resolved.stop_after == "cubin"
    assert resolved.options["num_warps"] == 8
    assert resolved.options["num_stages"] == 3
    assert resolved.toolchain_id == TOOLCHAIN.id
    assert resolved.timeout_s == 5


def test_the_last_stage_is_the_targets():
    assert job(target="hip:gfx942").stop_after == "hsaco"


def test_source_is_kept_to_the_letter():
    source = "\ufeff# größe \N{PILE OF POO}\r\n\tx\n\n"

    assert job(source=source).source == source


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "target that is not offered": (
        {"target": "cuda:30"},
        "/target",
        "Triton 3.9.0 on this deployment cannot compile for cuda:30, only for "
        "cuda:80, cuda:90, hip:gfx942.",
    ),
    "stage of the other backend": (
        {"stop_after": "hsaco"},
        "/stop_after",
        "cuda has no stage hsaco; it has source, ttir, ttgir, llir, ptx, cubin",
    ),
    "include of the other backend": (
        {"include": ["ttir", "amdgcn"]},
        "/include/1",
        "amdgcn is made for hip targets, not for cuda:90",
    ),
    "include beyond the last stage": (
        {"stop_after": "ttir", "include": ["ptx"]},
        "/include/0",
        "ptx is not made for cuda:90 with stop_after ttir",
    ),
    "NUL in the source": (
        {"source": "x = 1\0"},
        "/source",
        "Python source cannot contain NUL characters",
    ),
    "NUL in a file": (
        {"files": {"a.py": "\0"}},
        "/files/a.py",
        "Python source cannot contain NUL characters",
    ),
    "the source itself": (
        {"files": {"user.py": ""}},
        "/files/user.py",
        "user.py is `source` itself; rename it",
    ),
}


@pytest.mark.parametrize(("change", "at", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_made_is_refused(change: dict[str, Any], at: str, message: str):
    with pytest.raises(RequestRejected) as rejected:
        job(**change)

    assert [(error.pointer, error.message) for error in rejected.value.errors] == [(at, message)]


@pytest.mark.parametrize(
    "path",
    ["", "helpers", ".py", "a-b.py", "../a.py", "/a.py", "a//b.py", "./a.py", "a/../b.py",
     "a.py/b.py", "a\\b.py", "a.py\n", "größe.py", "1.py", "a.pyc", "a\0.py", "a/" * 33 + "b.py"],
)  # fmt: skip
def test_a_file_outside_of_the_folder_of_the_source_is_refused(path: str):
    with pytest.raises(RequestRejected) as rejected:
        job(files={path: ""})

    [error] = rejected.value.errors
    assert "is not a module path such as helpers.py or package/helpers.py" in error.message


@pytest.mark.parametrize("path", ["helpers.py", "package/__init__.py", "a/b/c.py", "_x.py"])
def test_modules_and_packages_are_files(path: str):
    assert job(files={path: "N = 1"}).files == {path: "N = 1"}


def test_everything_wrong_is_said_at_once():
    with pytest.raises(RequestRejected) as rejected:
        job(
            source="\0",
            signature={"x_ptr": "*fp33"},
            constexprs={"BLOCK_SIZE": {}},
            stop_after="hsaco",
            options={"num_warps": 5},
        )

    assert [error.pointer for error in rejected.value.errors] == [
        *("/source", "/signature/x_ptr", "/constexprs/BLOCK_SIZE", "/stop_after"),
        "/options/num_warps",
    ]


def test_a_wrong_target_does_not_hide_a_wrong_signature():
    with pytest.raises(RequestRejected) as rejected:
        job(target="sm_9", signature=[])

    assert [error.pointer for error in rejected.value.errors] == ["/signature", "/target"]


def test_a_bool_that_a_launch_infers_gives_the_key_that_posting_it_gives():
    posted = job(signature={"flag": "bool"}, constexprs={})
    inferred = Specialization({"flag": SpecializedParameter(type="u1")})

    assert specialized_job(posted, inferred).key == posted.key
