"""Children for the jobs of one launch alone, since user code may leave anything in them.

One child does job after job until the session is closed, it has done enough, or a job ends badly
in it. No other session uses it.
"""

from collections.abc import Collection
from types import TracebackType
from typing import Any, Self

from worker.pool.child_outcome import ChildOutcome
from worker.pool.child_process import MoreTime, OnStage
from worker.pool.pool import Pool
from worker.pool.shared_bytes import Body, SharedParts
from worker.pool.spares import HeldChild


class ChildSession:
    """Runs jobs as its pool does, in children that no other session has. Use it with `with`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._held = HeldChild()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def run(
        self,
        profile: str,
        header: dict[str, Any],
        body: Body | SharedParts,
        *,
        deadline_s: float,
        stages: Collection[str] = (),
        on_stage: OnStage | None = None,
        more_s: MoreTime | None = None,
        triton: str = "",
    ) -> ChildOutcome:
        """Run one job; all jobs of a session have one profile. See `Pool.run`.

        A job that crashes in a used child runs again in a fresh one.
        """
        return await self._pool.run(
            profile,
            header,
            body,
            deadline_s=deadline_s,
            stages=stages,
            on_stage=on_stage,
            more_s=more_s,
            triton=triton,
            held=self._held,
        )

    def close(self) -> None:
        """End its child, with all that user code left there."""
        self._held.let_go()
