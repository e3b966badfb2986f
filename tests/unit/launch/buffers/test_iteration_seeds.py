"""Seeds of timed iterations follow from the launch id, and only from it."""

from hashlib import sha256

from launch.buffers.iteration_seeds import iteration_seed, iteration_seeds

X = {"name": "x_ptr", "init": {"kind": "uniform", "seed": 1, "low": 0, "high": 1}}
PAIR = {"name": "pair.0", "init": {"kind": "randint", "seed": 2, "low": 0, "high": 9}}
ONES = {"name": "ones", "init": {"kind": "ones"}}
OUT = {"name": "out", "init": None}


def test_a_seed_is_the_digest_that_the_documentation_says():
    digest = sha256(b"42/7/x_ptr").digest()

    assert iteration_seed(42, 7, "x_ptr") == int.from_bytes(digest[:8], "little") % 2**53


def test_every_repeat_and_argument_has_another_seed():
    seeds = {iteration_seed(42, repeat, name) for repeat in range(100) for name in ("x", "y")}

    assert len(seeds) == 200


def test_only_random_arguments_have_seeds():
    assert iteration_seeds([X, PAIR, ONES, OUT], 42, 0).keys() == {"x_ptr", "pair.0"}
