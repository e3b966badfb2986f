"""A sandbox layer that cannot be applied ends the child before its job, with the layer's name."""

import pytest

from worker.pool.child_outcome import Ending
from worker.pool.pool import Pool
from worker.pool.sandbox_report import self_test
from worker.pool.zygote_client import ZygoteError


@pytest.mark.parametrize("layer", ["landlock", "seccomp", "limits"])
async def test_a_layer_that_fails_in_the_child_ends_it(toolchain, layer):
    pool = Pool(toolchain(f"tests.security.faults.{layer}"), spares={})
    await pool.start()
    outcomes = {
        profile: await pool.run(profile, {"task": "execute"}, b"", deadline_s=60)
        for profile in ("parse", "front", "record", "back")
    }
    await pool.close()
    for profile, outcome in outcomes.items():
        assert outcome.ending is Ending.SANDBOX, profile
        assert layer.replace("limits", "rlimits") in outcome.detail, profile
        assert outcome.result is None, profile


async def test_a_spare_that_cannot_be_walled_in_is_not_ordered_in_a_hurry(toolchain, caplog):
    pool = Pool(toolchain("tests.security.faults.seccomp"), spares={"front": 2})
    await pool.start()
    outcome = await pool.run("front", {"task": "execute"}, b"", deadline_s=60)
    await pool.close()
    assert outcome.ending is Ending.SANDBOX
    assert len(caplog.records) < 10


async def test_the_report_says_that_the_walls_do_not_hold(toolchain):
    pool = Pool(toolchain("tests.security.faults.seccomp"), spares={})
    await pool.start()
    report = await self_test(pool)
    await pool.close()
    assert report.level == "weak"
    assert any(failed.startswith("front: sandbox") for failed in report.failed)


async def test_without_landlock_no_worker_starts(toolchain):
    pool = Pool(toolchain("tests.security.faults.no_landlock"))
    with pytest.raises(ZygoteError, match="layer 'landlock' could not be applied"):
        await pool.start()


async def test_a_second_thread_in_the_zygote_stops_it(toolchain):
    pool = Pool(toolchain("tests.security.faults.second_thread"))
    with pytest.raises(ZygoteError, match="the zygote has 2 threads"):
        await pool.start()


async def test_unsafe_means_no_walls_and_says_so(toolchain, caplog):
    pool = Pool(toolchain(unsafe=True))
    await pool.start()
    report = await self_test(pool)
    await pool.close()
    assert report.level == "weak"
    assert report.layers["seccomp"] is False
    assert "front: read /etc/passwd" in report.failed
    assert "the sandbox is OFF" in caplog.text
