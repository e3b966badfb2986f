"""The names of the lanes that jobs queue in; submitters and workers agree on them here."""


def compile_lane(toolchain_id: str) -> str:
    """Return the lane of compile jobs that need this toolchain."""
    return f"compile:{toolchain_id}"
