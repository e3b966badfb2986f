"""Why a compilation cannot be exported in some format."""


class NotExportable(Exception):
    """The kernel does what this format cannot hold; the message says what and what to do."""
