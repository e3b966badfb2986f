"""Validators of HTTP caching (RFC 9110, 13.1.2)."""


def is_current(if_none_match: str, etag: str) -> bool:
    """Whether `etag` is among those that the client has; weak ones are compared by their value.

    `*` is not for this to say: it asks whether there is anything at all.
    """
    sent = (part.strip().removeprefix("W/") for part in if_none_match.split(","))
    return etag in sent


def wants_nothing_that_exists(if_none_match: str) -> bool:
    """Whether the client wrote `*`: it wants no bytes if there are any."""
    return if_none_match.strip() == "*"
