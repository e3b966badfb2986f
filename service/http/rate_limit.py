"""The headers that state a limit of a caller and what is left (IETF draft ratelimit-headers-10)."""

from fractions import Fraction
from functools import lru_cache
from math import floor

MAX_PERIODS = 1000


def rate_limit_headers(
    name: str, amount: float, period_s: int, *, left: int, more_in_s: int
) -> dict[str, str]:
    """Return the headers of a limit of `amount` in `period_s`; `more_in_s` there is one more."""
    return {
        "RateLimit-Policy": f'"{name}";{_quota(amount, period_s)}',
        "RateLimit": f'"{name}";r={left};t={more_in_s}',
    }


@lru_cache(maxsize=1024)
def _quota(amount: float, period_s: int) -> str:
    """Return quota and window in seconds, which must be integers.

    They are those of the shortest window that states the limit exactly. Where there is none, the
    window comes nearest, without promising more than the limit.
    """
    exact = Fraction(str(amount))
    periods = max(range(1, MAX_PERIODS + 1), key=lambda n: Fraction(floor(exact * n), n))
    return f"q={floor(exact * periods)};w={period_s * periods}"
