"""A share of a suite takes some cases of each test that has many, and all shares take all."""

from tests.shares import MANY, examples, in_share

TESTS = [
    "file::test_alone",
    *(f"file::test_few[{case}]" for case in range(MANY)),
    *(f"file::test_many[{case}]" for case in range(MANY + 1)),
]


def kept(share: str) -> list[str]:
    return [test for test, keep in zip(TESTS, in_share(TESTS, share), strict=True) if keep]


def test_without_a_share_all_run() -> None:
    assert kept("0/1") == TESTS


def test_the_shares_together_run_each_case_of_a_test_with_many_once() -> None:
    shares = [kept(f"{part}/3") for part in range(3)]
    many = sorted(test for share in shares for test in share if "many" in test)
    assert many == sorted(test for test in TESTS if "many" in test)
    assert [sum("many" in test for test in share) for share in shares] == [4, 4, 3]


def test_a_test_with_few_cases_runs_them_in_each_share() -> None:
    for part in range(3):
        assert set(TESTS[: MANY + 1]) <= set(kept(f"{part}/3"))


def test_the_shares_of_tests_together_run_each_test_once() -> None:
    shares = [kept(f"{part}/3 tests") for part in range(3)]
    assert sorted(test for share in shares for test in share) == sorted(TESTS)
    assert [len(share) for share in shares] == [8, 7, 7]


def test_a_share_has_its_part_of_generated_examples() -> None:
    assert examples(400, "0/1") == 400
    assert examples(400, "1/3") == 134
    assert examples(400, "1/3 tests") == 134
