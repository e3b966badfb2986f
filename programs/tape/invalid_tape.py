"""The error for an invalid tape: what is wrong with it, and where."""

MAX_WHERE_CHARS = 200
MAX_WHAT_CHARS = 500


class InvalidTape(ValueError):
    """No recorder sends such a tape. `where` is a JSON pointer into it, `what` the reason."""

    slug = "forged_tape"

    def __init__(self, where: str, what: str) -> None:
        self.where = where[:MAX_WHERE_CHARS]
        self.what = what[:MAX_WHAT_CHARS]
        super().__init__(f"{self.where or '/'}: {self.what}")
