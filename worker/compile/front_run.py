"""The front end of one compilation: executes a source, or takes the result of an equal one."""

from dataclasses import dataclass, replace
from typing import Any

from compiler.key import front_key
from compiler.languages import EXECUTED
from compiler.messages.orders import FrontOrder
from compiler.messages.wire import members_of
from compiler.request.options import split_options
from worker.compile.child_failure import broken_report
from worker.compile.child_task import ChildTasks
from worker.compile.progress import CompilationFailed
from worker.compile.reports import OPTION_ASKED, FrontReport
from worker.compile.result_cache import CachedFact, CacheScope, ResultCache


@dataclass(frozen=True, slots=True)
class FrontRun:
    """Executions of source for one job."""

    tasks: ChildTasks
    results: ResultCache
    sharing: CacheScope

    async def run(self, text: str, order: FrontOrder) -> FrontReport:
        """Execute `text` in a front child, or take the result of an equal text.

        Raises CompilationFailed.
        """
        report = await self._without_back_options(text, order) or await self._once(text, order)
        if report is CachedFact.READS_HIDDEN_OPTIONS:
            raise broken_report(order, "it reads a hidden option, although all options were given")
        return report

    async def _without_back_options(self, text: str, order: FrontOrder) -> FrontReport | None:
        """Execute `text` without the options that only back ends read; None if it reads one."""
        # Gluon's language begins with num_warps; to give it at once saves a child
        if any(language.word and language.word in text for language in EXECUTED):
            return None
        visible, hidden = split_options(order.options)
        report = await self._once(text, replace(order, options=visible, hidden=hidden))
        return None if report is CachedFact.READS_HIDDEN_OPTIONS else report

    async def _once(self, text: str, order: FrontOrder) -> FrontReport | CachedFact:
        # the key has all that the child sees, so equal keys have equal results
        key = front_key(text=text, **_key_inputs(order, "stop_after"), **self.sharing.key_inputs)
        known = await self.results.front(key)
        if known is not None:
            return known
        progress = self.tasks.progress
        stdout = progress.stdout
        try:
            report = await self.tasks.run(order, text.encode(), FrontReport)
        except CompilationFailed as failure:
            if failure.slug != OPTION_ASKED:
                raise
            progress.stdout = stdout
            progress.stages.clear()
            self.results.keep_reads_hidden(key)
            return CachedFact.READS_HIDDEN_OPTIONS
        self.results.keep_front(key, report)
        return report


def _key_inputs(order: FrontOrder, other: str) -> dict[str, Any]:
    """Return the inputs of a child, without the member `other` and those that change no result.

    A member that the key does not know is a TypeError there, never an input outside of the key.
    """
    left_out = {other, "ir_bounds"}
    return {name: value for name, value in members_of(order).items() if name not in left_out}
