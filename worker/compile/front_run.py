"""The front end of one compilation: executes a slice, or takes the result of an equal one.

For some slices it also executes the whole text, whose result may win: see `whole_module_check`.
"""

import asyncio
from dataclasses import dataclass, replace
from typing import Any

from compiler.key import front_key, whole_module_check_key
from compiler.messages.orders import FrontOrder
from compiler.messages.wire import members_of
from compiler.request.options import split_options
from worker.compile import whole_module_check
from worker.compile.child_failure import broken_report
from worker.compile.child_task import ChildTasks
from worker.compile.progress import CompilationFailed, Progress
from worker.compile.reports import OPTION_ASKED, FrontReport
from worker.compile.result_cache import CachedFact, CacheScope, ResultCache


@dataclass(frozen=True, slots=True)
class FrontRun:
    """Executions of source for one job."""

    tasks: ChildTasks
    results: ResultCache
    sharing: CacheScope

    async def run(self, part: str, whole: str | None, order: FrontOrder) -> FrontReport:
        """Execute the slice `part`, and the `whole` text too if there is one to compare with.

        Raises CompilationFailed.
        """
        if whole is None:
            return await self._execute(part, order)
        inputs = _key_inputs(order, "hidden")
        key = whole_module_check_key(part=part, whole=whole, **inputs, **self.sharing.key_inputs)
        if await self.results.agrees_with_whole_module(key):
            return await self._execute(part, order)
        return await self._compare(part, whole, order, key)

    async def _compare(self, part: str, whole: str, order: FrontOrder, key: str) -> FrontReport:
        """Return the slice's result, or the whole text's where that is conclusive and differs."""
        progress, other = self.tasks.progress, self._beside()
        running = asyncio.create_task(
            whole_module_check.outcome(other._execute(whole, order), other.tasks.progress.stages)
        )
        try:
            of_slice = await whole_module_check.outcome(self._execute(part, order), progress.stages)
            of_whole = await whole_module_check.in_time(running)
        finally:
            await whole_module_check.cancel(running)
        answer = of_slice
        if of_whole is None:
            progress.assumptions.append(whole_module_check.UNFINISHED)
        elif not of_whole.is_conclusive or whole_module_check.agree(of_slice, of_whole):
            self.results.keep_agreement(key)
        else:
            progress.take_over(other.tasks.progress)
            answer = of_whole
        if isinstance(answer.end, CompilationFailed):
            raise answer.end
        return answer.end

    def _beside(self) -> "FrontRun":
        """Return runs for the same job that announce nothing and have their own progress."""
        progress = Progress()
        tasks = replace(self.tasks, progress=progress, on_stage=lambda _: None)
        results = replace(self.results, progress=progress, on_stage=tasks.on_stage)
        return replace(self, tasks=tasks, results=results)

    async def _execute(self, text: str, order: FrontOrder) -> FrontReport:
        """Execute `text` in a front child, or take the result of an equal text."""
        report = await self._without_back_options(text, order) or await self._once(text, order)
        if report is CachedFact.READS_HIDDEN_OPTIONS:
            raise broken_report(order, "it reads a hidden option, although all options were given")
        return report

    async def _without_back_options(self, text: str, order: FrontOrder) -> FrontReport | None:
        """Execute `text` without the options that only back ends read; None if it reads one."""
        if "gluon" in text:
            return None  # its language begins with num_warps; to give it at once saves a child
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
    left_out = {other, "ir_bounds", "module"}
    return {name: value for name, value in members_of(order).items() if name not in left_out}
