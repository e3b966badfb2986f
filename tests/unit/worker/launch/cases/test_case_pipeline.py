"""Cases of a launch overlap, but events and the end look sequential."""

import asyncio
from types import SimpleNamespace

import pytest

from worker.launch.cases.case_order import CaseOrder, InOrder, run_cases
from worker.launch.cases.cases import Cases as OfLaunch


class Cases:
    """Cases that end when a test asks."""

    def __init__(self, count, failing=()):
        self.begun, self.reported, self.cancelled = [], [], []
        self.ends = [asyncio.Event() for _ in range(count)]
        self.cases = [SimpleNamespace(index=index) for index in range(count)]
        self._failing = failing

    async def run(self, case):
        self.begun.append(case.index)
        try:
            await self.ends[case.index].wait()
        except asyncio.CancelledError:
            self.cancelled.append(case.index)
            raise
        return SimpleNamespace(index=case.index, failed=case.index in self._failing)

    async def report(self, result):
        self.reported.append(result.index)

    def start(self, gather_limited=3, stop_after=None):
        running = run_cases(
            self.cases, self.run, self.report, gather_limited=gather_limited, stop_after=stop_after
        )
        return asyncio.create_task(running)

    async def end(self, *indices):
        for index in indices:
            self.ends[index].set()
        for _ in range(5):
            await asyncio.sleep(0)


async def test_so_many_are_under_way_and_the_next_begins_when_the_first_is_over():
    cases = Cases(5)
    running = cases.start(gather_limited=3)
    await cases.end()
    assert cases.begun == [0, 1, 2]

    await cases.end(0)
    assert cases.begun == [0, 1, 2, 3]
    running.cancel()


async def test_cases_are_reported_in_their_order_whichever_ends_first():
    cases = Cases(3)
    running = cases.start()
    await cases.end(2, 1)
    assert cases.reported == []

    await cases.end(0)
    assert [result.index for result in await running] == cases.reported == [0, 1, 2]


async def test_after_so_many_failures_the_rest_is_not_run():
    cases = Cases(5, failing={1})
    running = cases.start(gather_limited=3, stop_after=1)
    await cases.end(0, 1)

    assert [result.index for result in await running] == [0, 1]
    assert all(task.done() for task in asyncio.all_tasks() - {asyncio.current_task()})
    assert 2 in cases.cancelled
    assert 4 not in cases.begun


async def test_an_error_of_one_ends_all():
    cases = Cases(2)

    async def run(case):
        if case.index == 0:
            raise RuntimeError("the store is away")
        return await cases.run(case)

    with pytest.raises(RuntimeError, match="away"):
        await run_cases(cases.cases, run, cases.report, gather_limited=2, stop_after=None)
    assert not cases.begun or cases.cancelled == [1]


async def test_no_case_runs_that_those_before_it_could_still_forbid():
    order = CaseOrder(limit=2)
    await order.may_run(0)
    await order.may_run(1)  # a failure before it would make this the first
    waiting = asyncio.create_task(order.may_run(2))
    await asyncio.sleep(0)
    assert not waiting.done()

    order.end(0, failed=False)
    await asyncio.wait_for(waiting, 5)


async def test_without_a_limit_every_case_may_run_at_once():
    await CaseOrder().may_run(99)


async def test_a_step_is_taken_in_order_and_a_finished_case_blocks_no_other():
    step, taken = InOrder(), []

    async def take(index):
        await step.reach(index)
        taken.append(index)
        step.leave(index)

    later = [asyncio.create_task(take(index)) for index in (3, 2)]
    await asyncio.sleep(0)
    step.leave(1)  # it ended before this step
    await asyncio.sleep(0)
    assert taken == []

    await take(0)
    await asyncio.gather(*later)
    assert taken == [0, 2, 3]


class TwoPassingCases(OfLaunch):
    """Two cases that pass; a single failure would end the launch."""

    def __init__(self):
        self._order = CaseOrder(limit=1)
        self.ran = []

    async def _result_or_problem(self, case):
        await self._order.may_run(case.index)
        self.ran.append(case.index)
        return SimpleNamespace(index=case.index, failed=False)


async def test_no_case_runs_while_one_before_it_is_still_fuzzed():
    of_launch, cases, fuzzed = TwoPassingCases(), Cases(2), asyncio.Event()

    async def fuzz(result):
        await fuzzed.wait()
        return SimpleNamespace(index=result.index, failed=True)

    async def run(case):
        return await of_launch.run(case, fuzz if case.index == 0 else None)

    running = asyncio.create_task(
        run_cases(cases.cases, run, cases.report, gather_limited=2, stop_after=1)
    )
    await cases.end()
    assert of_launch.ran == [0]

    fuzzed.set()
    assert [result.index for result in await running] == of_launch.ran == [0]
