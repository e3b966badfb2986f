"""Host copies of buffers before and after a run."""

import numpy as np
import pytest

from compiler.abi import abi_of
from compiler.target import Target
from worker.gpu.launcher.contents import Contents
from worker.gpu.launcher.fault import JobFailed
from worker.gpu.launcher.launcher_order import LauncherOrder

ABI = abi_of(Target("cuda", 90, 32), [], {"name": "k", "num_warps": 4, "shared": 0})


def job(*arguments, sizes=(6,), inits=(None,), outputs=(True,), dtype="fp32"):
    allocations = [
        {"name": f"a{index}", "dtype": dtype, "elements": size, "align_bytes": 16, "init": init,
         "output": output, "body": None}
        for index, (size, init, output) in enumerate(zip(sizes, inits, outputs, strict=True))
    ]  # fmt: skip
    return LauncherOrder(b"", ABI, (1, 1, 1), allocations, dict(arguments))


def buffer(shape, strides, offset=0, allocation=0, output=True, dtype="fp32"):
    return {"kind": "buffer", "allocation": allocation, "shape": shape, "strides": strides,
            "offset": offset, "dtype": dtype, "output": output}  # fmt: skip


def test_memory_to_be_poisoned_takes_none_on_the_host():
    contents = Contents(job(("a0", buffer([6], [1])), sizes=(10**12,)))

    assert contents.initial(0) is None
    assert contents.sizes_bytes == [4 * 10**12]


def test_inputs_are_made_from_their_recipe():
    contents = Contents(
        job(("a0", buffer([6], [1], output=False)), inits=({"kind": "arange"},), outputs=(False,))
    )

    assert contents.initial(0).view(np.float32).tolist() == [0, 1, 2, 3, 4, 5]
    assert contents.written == set()


def test_outputs_are_read_in_logical_order():
    contents = Contents(job(("a0", buffer([2, 3], [1, 2]))))
    memory = np.arange(6, dtype=np.float32).view(np.uint8)

    [leaf] = contents.outputs

    assert np.frombuffer(contents.elements(leaf, memory), np.float32).tolist() == [
        0, 2, 4, 1, 3, 5,
    ]  # fmt: skip


def test_a_view_that_is_an_output_makes_its_allocation_one():
    view = ("view", buffer([3], [1], offset=3))
    contents = Contents(
        job(("a0", buffer([6], [1], output=False)), view, inits=({"kind": "zeros"},),
            outputs=(False,))
    )  # fmt: skip

    assert contents.written == {0}
    assert [leaf.name for leaf in contents.outputs] == ["view"]


def test_a_buffer_beyond_its_allocation_is_refused():
    contents = Contents(job(("a0", buffer([7], [1]))))

    with pytest.raises(JobFailed, match="an allocation of 6"):
        contents.elements(contents.outputs[0], np.zeros(24, np.uint8))


@pytest.mark.parametrize(
    ("at_byte", "index", "words"),
    [
        (24, [6], "1 element past its end: it has 6 elements"),
        (33, [8], "3 elements past its end"),
        (-4, [-1], "1 element before its start"),
    ],
)
def test_damage_in_a_red_zone_names_the_argument_and_the_index(at_byte, index, words):
    contents = Contents(job(("a0", buffer([6], [1]))))

    finding = contents.damaged(0, at_byte)

    assert (finding.kind, finding.argument, finding.index) == (
        "out_of_bounds", "a0", index,
    )  # fmt: skip
    assert words in finding.message


def test_an_unknown_type_is_refused():
    with pytest.raises(JobFailed, match="fp4"):
        Contents(job(("a0", buffer([6], [1])), dtype="fp4"))


def test_what_starts_alike_is_kept_under_one_key():
    def key(init, strides=(1,), sizes=(6,), dtype="fp32"):
        argument = ("a0", buffer([3], list(strides), dtype=dtype))
        return Contents(job(argument, sizes=sizes, inits=(init,), dtype=dtype)).keys[0]

    ones = key({"kind": "ones"})

    assert ones == key({"kind": "ones"})
    others = [key({"kind": "zeros"}), key({"kind": "ones"}, [2]), key({"kind": "ones"}, sizes=(7,)),
              key({"kind": "ones"}, dtype="i32")]  # fmt: skip
    assert len({ones, *others}) == 5


def test_poison_and_uploads_without_a_digest_are_not_kept():
    named = {"kind": "tensor", "digest": "sha256:" + 64 * "a"}

    assert Contents(job(inits=(None,))).keys == [None]
    assert Contents(job(inits=({"kind": "tensor", "digest": "sha256:0"},))).keys == [None]
    assert Contents(job(inits=(named,))).keys != [None]
