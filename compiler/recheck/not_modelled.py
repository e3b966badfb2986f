"""The error for what this package does not model."""


class NotModelled(Exception):
    """Raised for a kernel, a contract or an access that bit-vectors do not describe here."""
