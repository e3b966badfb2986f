"""How much of a text is kept, and how it tells that there was more.

Records are kept for a day and sent to whoever asks, so nothing in one is as long as its author
likes. Pure.
"""

MESSAGE_CHARS = 4000
STDOUT_CHARS = 72 << 10
"""More than the first bytes that are kept of one child's, and what says that there were more."""
_NOTE_CHARS = 60


def clipped(text: str, most_chars: int) -> str:
    """Return `text`, or as much of it as leaves room to say how many characters are missing.

    What was clipped stays as it is when it is clipped again.
    """
    if len(text) <= most_chars:
        return text
    kept = max(most_chars - _NOTE_CHARS, 0)
    return f"{text[:kept]}… [{len(text) - kept} more characters were not kept]"
