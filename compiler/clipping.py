"""How much of a text is kept, and how it tells that there was more.

Records are kept for a day and sent to whoever asks, so nothing in one is as long as its author
likes. Pure.
"""

MESSAGE_CHARS = 4000
STDOUT_CHARS = 64 << 10


def clipped(text: str, most_chars: int) -> str:
    """Return `text`, or its first `most_chars` characters and how many are missing."""
    if len(text) <= most_chars:
        return text
    return f"{text[:most_chars]}… [{len(text) - most_chars} more characters were not kept]"
