"""Slow steps of event loops are recorded by name, and how late a loop is."""

import asyncio
import json
import logging
import re
import time
from pathlib import Path

from jobs.loop_steps import EVERY_S, LoopSteps, measure_lag, step_name
from jobs.work_metrics import WorkMetrics
from service.server import MeasuredLoop
from tests.waiting import comes_true


def work(seconds: float) -> None:
    began = time.thread_time()
    while time.thread_time() - began < seconds:
        pass


async def waits_inside() -> None:
    await asyncio.sleep(0)
    work(0.3)
    await asyncio.sleep(0.01)


async def a_slow_task() -> None:
    await waits_inside()


def records(folder: Path) -> list[dict[str, object]]:
    lines = [line for file in folder.iterdir() for line in file.read_text().splitlines()]
    return [json.loads(line) for line in lines]


def test_a_slow_step_of_a_task_is_recorded_with_the_coroutine_that_waits_now(tmp_path, caplog):
    caplog.set_level(logging.DEBUG, "jobs.loop_steps")
    with asyncio.Runner(loop_factory=lambda: MeasuredLoop(LoopSteps(tmp_path))) as runner:
        runner.run(a_slow_task())

    [record] = records(tmp_path)
    assert record["cpu_s"] >= 0.3
    assert re.search(r"a_slow_task:\d+ > waits_inside:\d+ > sleep", str(record["step"]))
    assert str(record["step"]) in caplog.text


def test_a_step_that_waits_for_the_processor_or_the_disk_is_no_slow_step(tmp_path):
    async def sleep():
        time.sleep(0.5)

    with asyncio.Runner(loop_factory=lambda: MeasuredLoop(LoopSteps(tmp_path))) as runner:
        runner.run(sleep())

    assert records(tmp_path) == []


def test_what_a_server_receives_is_a_step(tmp_path):
    class Protocol(asyncio.Protocol):
        def connection_made(self, transport):
            self.transport = transport

        def data_received(self, data):
            work(0.3)
            self.transport.close()

    async def send():
        server = await asyncio.get_running_loop().create_server(Protocol, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"x")
        await reader.read()
        writer.close()
        server.close()

    with asyncio.Runner(loop_factory=lambda: MeasuredLoop(LoopSteps(tmp_path))) as runner:
        runner.run(send())

    [record] = records(tmp_path)
    assert "data_received" in record["step"]


async def test_the_lag_of_a_loop_is_as_long_as_the_step_that_held_it_up():
    metrics = WorkMetrics()
    lag = metrics.loop_lag.labels("worker")
    measuring = asyncio.create_task(measure_lag(lag))
    await asyncio.sleep(0)
    work(EVERY_S + 0.1)
    await comes_true(lambda: lag._sum.get() >= 0.1)
    measuring.cancel()


def test_a_callback_that_no_task_owns_is_named_by_its_function():
    assert step_name(work) == "work"
