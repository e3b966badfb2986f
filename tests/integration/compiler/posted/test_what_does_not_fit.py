"""A kernel too large for the GPU still compiles, with a warning that it cannot run."""

from __future__ import annotations

from tests.integration.service import bodies
from tests.integration.service.conftest import Post

LARGE = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64}


def test_too_much_shared_memory_is_a_warning_with_advice(post: Post) -> None:
    body = bodies.good("matmul", target="cuda:86", options={"num_stages": 6})
    body["constexprs"] = body["constexprs"] | LARGE

    answer = post(body | {"stop_after": "llir"}).json()

    assert answer["state"] == "succeeded"
    assert "llir" in answer["artifacts"]
    assert answer["resources"]["fits"] is False
    assert answer["resources"]["shared_bytes"] > answer["resources"]["shared_limit_bytes"] == 101376
    (warning,) = answer["diagnostics"]
    assert warning["severity"] == "warning"
    assert "KB > 99 KB" in warning["message"]
    assert warning["hint"].startswith("Reduce num_stages (now 6) or BLOCK_K (now 64)")


def test_what_fits_says_so_without_a_word(post: Post) -> None:
    answer = post(bodies.good("vector_add")).json()

    assert answer["resources"]["fits"] is True
    assert answer["resources"]["threads"] == 128
    assert answer["diagnostics"] == []
