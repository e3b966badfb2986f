"""The order in which a program and its reference use the GPU, and skipped references."""

import asyncio
import struct
from dataclasses import replace
from types import SimpleNamespace

import pytest

from jobs.deadline import Deadline
from programs.gpu.program_order import ProgramTimingOrder
from programs.tape.read_tape import read_tape
from programs.worker.gpu.gpu_replay import DeviceProgram, ProgramGpu, ReplayTurn
from programs.worker.gpu.program_replays import ProgramReplays, ReferenceReplayCache
from programs.worker.kernel_jobs import KernelUse
from programs.worker.output_tolerances import OutputTolerances
from programs.worker.program_kernels import ProgramKernels
from tests.programs.unit.recorded import sent, vector_add
from worker.bytes_in_flight import BytesInFlight
from worker.gpu.launcher.launcher_order import BESIDE
from worker.gpu.supervisor.launcher_protocol import LaunchEnding, LaunchOutcome

pytestmark = pytest.mark.unit

TAPE = read_tape(sent(vector_add()))
LARGE = replace(TAPE, tensors=[replace(one, shape=(1 << 26,)) for one in TAPE.tensors])
"""Its outputs are too large to leave a GPU."""
USE = KernelUse("k0", None)
KERNELS = ProgramKernels(TAPE, [USE], {}, {1: USE, 3: USE}, {1: [USE], 3: [USE]})
ONES = struct.pack("<1024f", *[1.0] * 1024)
GOOD = LaunchOutcome(
    LaunchEnding.OK,
    result={
        "ending": "finished", "findings": [], "peak_bytes": 1,
        "deterministic": None, "parameters": [],
    },
    outputs={"0:0": ONES, "1:0": ONES},
)  # fmt: skip
TIMING = {
    "median_us": 10.0, "mean_us": 10.0, "min_us": 9.0, "p20_us": 9.5, "p80_us": 10.5, "std_us": 0.5,
    "repeats": 20, "noisy": False,
}  # fmt: skip
LEFT = LaunchOutcome(LaunchEnding.SILENT, "exit status 1", stdout=b"OSError: too many open files")
KILLED = LaunchOutcome(LaunchEnding.SIGNAL, "killed by signal 11")
FAULT = LaunchOutcome(LaunchEnding.FAULT, fault={"kind": "illegal_access", "message": "m"})


class OrderedLaunchers:
    """Fakes launchers: it ends each program as a test asks, and records its orders.

    A list gives the ends of successive runs.
    """

    def __init__(self, **endings):
        self.orders = []
        self.apart = []
        self._endings = endings

    @property
    def devices(self):
        facts = SimpleNamespace(uuid="GPU-0", memory_bytes=1 << 30)
        return [SimpleNamespace(ordinal=0, facts=facts)]

    @property
    def tapes(self):
        return [order.tape.decode() for order in self.orders]

    async def replay(self, ordinal, order, single_use, **_):
        self.orders.append(order)
        self.apart += [order.tape.decode()] if single_use else []
        await asyncio.sleep(0)
        ending = self._endings[order.tape.decode()]
        return ending.pop(0) if isinstance(ending, list) else ending


def program(name, tape=TAPE):
    return DeviceProgram(tape, name.encode(), KERNELS, None, name)


@pytest.fixture
def known():
    return ReferenceReplayCache(1 << 20)


async def both(launchers, known, tape=TAPE, beside=None, **how):
    async def report(role, replayed):
        pass

    usual = {"seed": 1, "determinism": True, "timing": None, "caller": "ada", "is_batch": False}
    turn = ReplayTurn(timeout_s=60, **usual | how)
    gpu = ProgramGpu(launchers, 0, BytesInFlight(1 << 30))
    replays = ProgramReplays(gpu, turn, OutputTolerances(), Deadline(60.0), known, report)
    return await replays.both(program("candidate", tape), program("reference", beside or tape))


async def test_a_program_is_on_the_gpu_before_its_reference(known):
    launchers = OrderedLaunchers(candidate=GOOD, reference=GOOD)
    ours, theirs = await both(launchers, known)

    assert launchers.tapes == ["candidate", "reference"]
    assert ours.is_whole
    assert theirs.is_whole


async def test_only_the_program_is_asked_to_be_deterministic(known):
    launchers = OrderedLaunchers(candidate=GOOD, reference=GOOD)
    await both(launchers, known)

    assert [order.determinism for order in launchers.orders] == [True, False]


async def test_a_reference_is_timed_in_turns_with_its_program(known):
    times = {"timing": TIMING, "turns": {"timing": TIMING | {"median_us": 30.0}}}
    timed = replace(GOOD, result=GOOD.result | times)
    launchers = OrderedLaunchers(candidate=timed, reference=GOOD)
    ours, theirs = await both(launchers, known, timing=ProgramTimingOrder(max_ms=70.0))

    first, second = launchers.orders
    assert (first.turns.tape, first.turns.timing.entries) == (b"reference", False)
    assert (first.timing.max_ms, second.timing, second.turns) == (70.0, None, None)
    assert (ours.times.timing.median_us, theirs.times.timing.median_us) == (10.0, 30.0)


async def test_programs_that_do_not_fit_into_memory_together_are_timed_apart(known):
    large = replace(TAPE, storages=[200 << 20 for _ in TAPE.storages])
    launchers = OrderedLaunchers(candidate=GOOD, reference=GOOD)
    await both(launchers, known, tape=large, timing=ProgramTimingOrder())

    assert [order.turns for order in launchers.orders] == [None, None]
    assert [order.timing.entries for order in launchers.orders] == [True, False]


async def test_times_of_other_outputs_than_the_checked_ones_are_not_believed(known):
    large = replace(TAPE, storages=[200 << 20 for _ in TAPE.storages])
    differing = TIMING | {"checked_repeats": 20, "differing_repeats": 3}
    timed = replace(GOOD, result=GOOD.result | {"timing": differing})
    launchers = OrderedLaunchers(candidate=timed, reference=GOOD)
    ours, _ = await both(launchers, known, tape=large, timing=ProgramTimingOrder())

    assert ours.times is None
    assert "3 of 20 timed runs returned other outputs" in ours.untimed


async def test_a_reference_that_ends_the_launcher_is_no_fault_of_its_program(known):
    ended = replace(FAULT, stages=("run", BESIDE))
    launchers = OrderedLaunchers(candidate=[ended, GOOD], reference=FAULT)
    ours, theirs = await both(launchers, known, timing=ProgramTimingOrder())

    assert (ours.findings, ours.times) == ([], None)
    assert "its reference did not run" in ours.untimed
    assert theirs.findings[0].kind == "illegal_access"


async def test_a_launcher_that_leaves_by_itself_is_no_fault_of_the_program(known, caplog):
    launchers = OrderedLaunchers(candidate=[LEFT, GOOD], reference=GOOD)
    ours, _ = await both(launchers, known)

    assert ours.is_whole
    assert "OSError: too many open files" in caplog.text


async def test_a_program_that_every_launcher_leaves_at_has_crashed(known):
    launchers = OrderedLaunchers(candidate=LEFT)
    ours, _ = await both(launchers, known)

    assert [finding.kind for finding in ours.findings] == ["crashed"]
    assert [order.announce for order in launchers.orders] == [False, False, True]


async def test_a_crash_that_does_not_show_again_names_no_op(known):
    launchers = OrderedLaunchers(candidate=[KILLED, replace(GOOD, stages=("op-3",))])
    ours, _ = await both(launchers, known)

    (finding,) = ours.findings
    assert (finding.kind, finding.line) == ("crashed", None)


async def test_a_program_that_faults_needs_no_reference(known):
    launchers = OrderedLaunchers(candidate=FAULT)
    _, theirs = await both(launchers, known)

    assert launchers.tapes == ["candidate"]
    assert theirs is None


async def test_a_reference_is_replayed_once_for_each_caller(known):
    launchers = OrderedLaunchers(candidate=GOOD, reference=GOOD)
    for caller in ("ada", "ada", "bob"):
        _, theirs = await both(launchers, known, caller=caller)
        assert theirs.is_whole

    assert launchers.tapes == ["candidate", "reference", "candidate", "candidate", "reference"]


async def test_programs_beside_each_other_share_one_replay_of_their_reference(known):
    launchers = OrderedLaunchers(candidate=GOOD, reference=GOOD)
    found = await asyncio.gather(*(both(launchers, known) for _ in range(4)))

    assert sorted(launchers.tapes) == ["candidate"] * 4 + ["reference"]
    assert all(theirs.is_whole for _, theirs in found)


async def test_an_interactive_program_does_not_wait_for_a_batch_replay(known):
    launchers = OrderedLaunchers(candidate=GOOD, reference=GOOD)
    await asyncio.gather(*(both(launchers, known, is_batch=is_batch) for is_batch in (True, False)))

    assert launchers.tapes.count("reference") == 2


async def test_a_reference_that_its_program_broke_is_sound_in_a_launcher_of_its_own(known):
    launchers = OrderedLaunchers(candidate=GOOD, reference=[FAULT, GOOD])
    _, theirs = await both(launchers, known)

    assert launchers.tapes == ["candidate", "reference", "reference"]
    assert launchers.apart == ["reference"]
    assert theirs.is_whole


async def test_a_reference_fails_by_itself_where_it_fails_alone(known):
    launchers = OrderedLaunchers(candidate=GOOD, reference=FAULT)
    _, theirs = await both(launchers, known)

    assert theirs.findings
    assert theirs.is_apart


async def test_a_reference_that_fails_beside_its_program_has_not_failed_by_itself(known):
    launchers = OrderedLaunchers(candidate=replace(FAULT, stages=("run", BESIDE)))
    _, theirs = await both(launchers, known, tape=LARGE)

    assert theirs.findings
    assert not theirs.is_apart


async def test_a_reference_that_faults_for_one_program_is_tried_again_by_those_beside_it(known):
    launchers = OrderedLaunchers(candidate=GOOD, reference=[FAULT, FAULT, GOOD])
    found = await asyncio.gather(*(both(launchers, known) for _ in range(3)))

    assert launchers.tapes.count("reference") == 3
    assert sorted(theirs.is_whole for _, theirs in found) == [False, True, True]


async def test_a_reference_that_faults_is_tried_again_for_the_next_program(known):
    launchers = OrderedLaunchers(candidate=GOOD, reference=FAULT)
    for _ in range(2):
        await both(launchers, known)

    assert launchers.tapes == ["candidate", "reference", "reference"] * 2


async def test_a_reference_that_cannot_be_run_beside_its_program_is_reported(known):
    failure = {"slug": "unsupported_op", "message": "m"}
    ended = LaunchOutcome(LaunchEnding.FAILURE, failure=failure, stages=("run", BESIDE))
    launchers = OrderedLaunchers(candidate=ended)
    ours, theirs = await both(launchers, known, tape=LARGE)

    assert ours.problem is None
    assert (theirs.problem.slug, theirs.problem.program) == ("not_recordable", "reference")


async def test_a_crash_beside_its_program_is_tried_again_for_the_op_that_it_was_in(known):
    killed = replace(KILLED, stages=("run", BESIDE, "run"))
    again = replace(KILLED, stages=("run", "op-3", BESIDE, "run", "op-2"))
    launchers = OrderedLaunchers(candidate=[killed, again])
    ours, theirs = await both(launchers, known, tape=LARGE)

    assert ours.findings == []
    assert "aten.empty_like.default" in theirs.findings[0].message
    assert [(order.announce, order.reference.announce) for order in launchers.orders] == [
        (False, False),
        (True, True),
    ]


@pytest.mark.parametrize(("ours", "theirs"), [(LARGE, TAPE), (TAPE, LARGE), (LARGE, LARGE)])
async def test_where_either_returns_too_much_both_have_one_turn(known, ours, theirs):
    launchers = OrderedLaunchers(candidate=FAULT)
    await both(launchers, known, tape=ours, beside=theirs)

    assert [order.reference.tape for order in launchers.orders] == [b"reference"]
