"""Limits in bytes for what workers build, the store keeps and the service answers.

Each limit is checked where a thing is built, where it is stored and where it is sent. Lua scripts
read them as `L.MAX_...`; see `store.scripts`. Tensors, artifacts and archives are streamed, and
have their own limits.
"""

from typing import Final

MAX_RECORD_BYTES: Final = 8 << 20
"""The record of a job. A larger one is replaced by a failure, `result_too_large`."""
MAX_FAILURE_RECORD_BYTES: Final = 64 << 10
"""A record that is always kept, such as a failure for want of room: each job reserves so much."""
MAX_WITNESSES_BYTES: Final = 1 << 20
"""The launch requests in a proof that break it, together."""
MAX_EVENT_BYTES: Final = 256 << 10
"""The data of one event. A larger one is left out: the record has what it reports."""
MAX_ANSWER_BYTES: Final = 32 << 20
"""One JSON answer, of however many records."""
MAX_BATCH_RECORDS_BYTES: Final = 8 << 20
"""The records of failures that a batch keeps, together; later ones are read where they are."""
MAX_LIST_READ_BYTES: Final = 16 << 20
"""The records that one page of a list is made of; the page ends early beyond it."""
MAX_LOG_LINE_BYTES: Final = 64 << 10
"""One line of a log, with its traceback."""
MAX_ID_BYTES: Final = 64
"""An id in a path, which becomes a part of a key in the store."""
