"""Printed output of a kernel is forwarded up to a limit."""

import io

from launch.checks.bounded_output import BoundedOutput


def test_little_output_is_passed_on_whole():
    stream = io.StringIO()
    print("x is", 7, file=BoundedOutput(stream))
    assert stream.getvalue() == "x is 7\n"


def test_much_output_is_cut_and_said_so_once():
    stream = io.StringIO()
    bounded = BoundedOutput(stream, longest_bytes=10)
    for _ in range(1000):
        bounded.write("seven.. ")
    assert stream.getvalue() == "seven.. se\n... the rest of the output is left out\n"
