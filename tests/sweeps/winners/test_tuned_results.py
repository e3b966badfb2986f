"""A sweep's measurements in the form of Triton's autotuner."""

from __future__ import annotations

from sweeps.winners.tuned_results import tuned_results
from tests.sweeps.winners.swept import BASE, plan, rows, winner


def test_rivals_are_the_timed_variants_of_the_same_size() -> None:
    found = tuned_results(plan(), rows([1.0, 12.0, 2.0, None, 3.0, 10.0, 4.0, 9.0]), winner(7))

    assert found.winner.constexprs == {"ACT": "relu", "BM": 32, "EVEN": True}
    assert found.winner.options == {"num_stages": 2, "num_warps": 8}
    assert found.winner.us == (9.0, 8.75, 9.25)
    others = [(item.constexprs["BM"], item.options["num_warps"]) for item in found.others]
    assert others == [(16, 4), (32, 4)]  # without the small size, and without untimed variants


def test_arguments_are_reported_as_a_call_passes_them() -> None:
    found = tuned_results(plan(), rows([9.0] * 8), winner(7))

    assert found.arguments == {"M": 4096, "eps": 0.5, "ACT": "relu", "BM": 32, "EVEN": True}
    assert found.dtypes == {"x": "torch.float16", "alias": "torch.float16"}
    assert (found.untyped, found.unsaid) == ([], ["tile"])


def test_a_tensor_of_a_type_that_torch_lacks_is_kept_apart() -> None:
    arguments = {**BASE["arguments"], "x": {"shape": [4], "dtype": "fp8e4b15"}}

    found = tuned_results(plan(base={**BASE, "arguments": arguments}), rows([9.0] * 8), winner(7))

    assert (found.dtypes, found.untyped) == ({}, ["x", "alias"])
