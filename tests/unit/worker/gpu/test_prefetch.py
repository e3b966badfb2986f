"""A launcher reads the next order, and prepares its buffers, while it runs one."""

import os

import pytest

from tests.unit.worker.gpu import fake_cuda
from tests.unit.worker.gpu.test_device_run import job
from worker.pool import frame


class Inputs:
    """Notes what is prepared."""

    def __init__(self):
        self.prepared = []

    def prepare(self, contents):
        self.prepared += contents.keys


@pytest.fixture
def orders(monkeypatch):
    """Return orders, the inputs that they prepare, and the pipe to write orders to."""
    fake_cuda.install(monkeypatch, {})
    from worker.gpu.launcher.prefetch import OrderPrefetch

    reading, writing = os.pipe()
    inputs = Inputs()
    thread = OrderPrefetch(reading, inputs)
    thread.start()
    yield thread, inputs, writing
    with pytest.raises(OSError, match="Bad file"):
        os.close(writing)  # by the test
    thread.join(10)
    os.close(reading)


def test_orders_come_in_turn_and_then_their_end(orders):
    thread, inputs, writing = orders
    for number in (1, 2, 3):
        os.write(writing, frame.encode(bytes([number]) * 16, *job().to_frame()))
    os.close(writing)

    found = [thread.next().nonce[0] for _ in range(3)]

    assert found == [1, 2, 3]
    assert thread.next() is None
    assert len(inputs.prepared) == 9


def test_what_is_wrong_with_an_order_is_left_to_its_turn(orders):
    thread, inputs, writing = orders
    os.write(writing, frame.encode(bytes(16), {"task": "launch"}))
    os.write(writing, frame.encode(bytes(16), {"task": "health"}))
    os.close(writing)

    assert thread.next().header == {"task": "launch"}
    assert thread.next().header == {"task": "health"}
    assert thread.next() is None
    assert inputs.prepared == []


def test_bytes_that_are_no_frame_are_an_error(orders):
    thread, _, writing = orders
    os.write(writing, b"x" * 100)
    os.close(writing)

    with pytest.raises(frame.FrameError):
        thread.next()
