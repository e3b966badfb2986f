"""The version of this client, read by the build and sent as User-Agent."""

__version__ = "0.1.0"
