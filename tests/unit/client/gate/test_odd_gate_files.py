"""A value of the wrong type at any key of a gate file is an error, never a crash."""

from pathlib import Path

import pytest

from tests.cases import slow_except
from tests.unit.client.gate.gate_service import GateService, gate, write_gate

WHOLE = """
baseline = "b.json"
[matrix]
targets = ["cuda:90"]
tritons = ["3.9"]
[budgets]
registers = 64
spills = "none"
ptx = "any"
instruction_classes = 5
opcodes = {LDG = 1}
[budgets.targets."cuda:*"]
occupancy = 0.5
[budgets.tritons."3.9.*"]
code_bytes = "<= triton 3.6"
[kernels.double]
source = "double.py"
kernel = "double"
signature = {x_ptr = "*fp32:16"}
constexprs = {N = 64}
hints = {x_ptr = ["divisible_by_16"]}
options = {num_warps = 4}
files = {"a.py" = "double.py"}
local_imports = true
targets = ["cuda:80"]
tritons = ["3.6"]
[kernels.double.budgets]
shared_bytes = 5
[kernels.double.launch]
device = "cpu"
grid = [1]
arguments = {x_ptr = "fp32[64]:ones:output"}
reference = "double.py"
checks = ["memcheck"]
timing = {}
return = {x_ptr = "summary"}
[[kernels.double.launch.cases]]
name = "one"
arguments = {x_ptr = "fp32[64]:ones:output"}
"""
ODD = ["5", "'x'", "[]", "[[]]", "{a = {}}", "1979-05-27", "nan"]


@pytest.mark.parametrize("odd", slow_except(["[]", "{a = {}}"], ODD))
def test_no_value_at_any_key_breaks_the_reader(service: GateService, odd: str):
    write_gate("")
    lines = WHOLE.splitlines()
    for number, line in enumerate(lines):
        key, equals, _ = line.partition(" = ")
        if equals:
            changed = [*lines[:number], f"{key} = {odd}", *lines[number + 1 :]]
            Path("kernels.toml").write_text("\n".join(changed))

            assert gate(service) in {0, 1, 2}, line
