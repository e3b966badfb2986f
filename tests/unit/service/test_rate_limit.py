"""The headers that state a limit: two integers that promise no more than the limit allows."""

from fractions import Fraction

import pytest

from service.http.problems import rate_limit_headers


@pytest.mark.parametrize(
    ("requests_per_s", "stated"),
    [
        (1, "q=1;w=1"),
        (2.5, "q=5;w=2"),
        (0.001, "q=1;w=1000"),
        (0.3, "q=3;w=10"),
        (1e6, "q=1000000;w=1"),
    ],
)
def test_a_limit_is_stated_exactly_in_the_shortest_window(requests_per_s: float, stated: str):
    headers = rate_limit_headers("requests", requests_per_s, 1, left=4, more_in_s=1)

    assert headers == {
        "RateLimit-Policy": f'"requests";{stated}',
        "RateLimit": '"requests";r=4;t=1',
    }


@pytest.mark.parametrize("requests_per_s", [3.14159, 0.0015, 1 / 3, 17.77777])
def test_a_limit_without_integers_is_stated_as_the_nearest_smaller_one(requests_per_s: float):
    headers = rate_limit_headers("requests", requests_per_s, 1, left=0, more_in_s=1)

    quota, window = (int(part[2:]) for part in headers["RateLimit-Policy"].split(";")[1:])
    assert 0.999 * requests_per_s < quota / window
    assert Fraction(quota, window) <= Fraction(str(requests_per_s))


def test_less_than_one_gpu_second_an_hour_takes_more_hours():
    headers = rate_limit_headers("gpu-seconds", 0.5, 3600, left=0, more_in_s=9)

    assert headers["RateLimit-Policy"] == '"gpu-seconds";q=1;w=7200'
