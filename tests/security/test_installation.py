"""A child that reads no file cannot learn where this program, its Python and Triton lie."""

import sys
from pathlib import Path

import pytest

from tests.security.conftest import ROOT
from tests.security.test_compiler_behind_walls import front
from worker.pool.child_outcome import Ending

pytestmark = pytest.mark.asyncio(loop_scope="session")

OF_SYS = """
import sys
print(sys.argv, sys.orig_argv, sys.path, sys.executable, sys._base_executable, sys.prefix,
      sys.base_prefix, sys.exec_prefix, sys.path_importer_cache, vars(sys).get("_home"))
"""
OF_FRAMES = """
import sys, traceback
frame = sys._getframe()
while frame:
    print(frame.f_code.co_filename)
    frame = frame.f_back
print(triton.jit.__code__.co_filename, tl.sum.fn.__code__.co_filename)
try:
    triton.cdiv("a", None)
except TypeError:
    print(traceback.format_exc())
"""
OF_THE_PROCESS = """
import os
print(dict(os.environ))
for look in (os.getcwd, os.uname, lambda: os.readlink("/proc/self/exe"),
             lambda: open("/proc/self/cmdline").read(), lambda: open("/proc/self/maps").read()):
    try:
        print(look())
    except OSError as error:
        print("refused", error.errno)
"""
REAL = sorted({str(ROOT), sys.prefix, sys.base_prefix, str(Path(sys.executable).parent)})


OF_MODULES = f"""
import sys
roots = {[root[::-1] for root in REAL]!r}
print("looking")
for module in list(sys.modules.values()):
    if module.__name__ not in ("user", "sys"):
        for name, value in list(vars(module).items()):
            said = repr(value)
            if any(root[::-1] in said for root in roots):
                print("FOUND", module.__name__, name, said[:200])
"""


@pytest.mark.parametrize(
    "code",
    [OF_SYS, OF_FRAMES, OF_THE_PROCESS],
    ids=["sys", "frames", "process"],
)
async def test_user_code_sees_an_invented_installation(compiler, code):
    outcome = await front(compiler, before=code)
    said = (outcome.stdout + outcome.stderr).decode()
    assert outcome.ending is Ending.OK, outcome
    assert said
    assert [root for root in REAL if root in said] == []


async def test_no_module_holds_a_real_path(compiler):
    outcome = await front(compiler, before=OF_MODULES)
    assert b"looking" in outcome.stdout, outcome
    assert b"FOUND" not in outcome.stdout, outcome.stdout.decode()


async def test_the_text_of_triton_s_functions_is_still_known(compiler):
    code = "import inspect\nprint(inspect.getsource(tl.sum.fn))"
    outcome = await front(compiler, before=code)
    assert b"def sum(" in outcome.stdout, outcome


async def test_ir_names_triton_s_own_lines_by_an_invented_path(compiler):
    outcome = await front(compiler, body="offsets = offsets + tl.sum(offsets)")
    ttir = outcome.stages[-1].body.decode()
    assert '"/triton/language/standard.py"' in ttir
    assert not any(root in ttir for root in REAL)
