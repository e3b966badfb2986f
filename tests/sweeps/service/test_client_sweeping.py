"""Sweeps from Python and from the command line, against the real service."""

from __future__ import annotations

import csv
import io
import json
import signal
import tarfile
from collections.abc import Callable
from pathlib import Path

import tritonc

from tests.integration.service import bodies
from tests.integration.service.on_terminal import OnTerminal
from tests.integration.service.running import Deployment
from tests.integration.service.test_client_commands import SUM_LIKE, VECTOR_ADD, run
from tests.waiting import wait_until

SPACE = ["--space", "BLOCK_SIZE=512,1024", "num_warps=2,4", "--target", "cuda:80,cuda:90"]
CONDITION = ["--where", "BLOCK_SIZE >= 256 * num_warps"]


async def test_awaited_with_rows_sorted_and_chosen(system: Deployment):
    source = Path(VECTOR_ADD).read_text()
    base = tritonc.compile_request(source, signature="*fp32:16,*fp32:16,*fp32:16,i32")
    space = {"constexprs": {"BLOCK_SIZE": [512, 1024]}, "target": ["cuda:80", "cuda:90"]}

    async with tritonc.AsyncClient(system.url) as client:
        sweep = await client.sweep(base, space)
        largest = await client.sweeps.get(
            sweep.id, sort="-registers", limit=1, only={"target": "cuda:80"}
        )
        kinds = [event.kind async for event in client.sweeps.events(sweep.id)]

    assert (sweep.state, sweep.counts) == ("completed", {"succeeded": 4})
    assert len({row.compilation_key for row in sweep.rows}) == 4
    assert largest.matched == 2
    assert largest.rows[0].values == {"constexprs.BLOCK_SIZE": 1024, "target": "cuda:80"}
    assert (kinds[0], kinds[-1], kinds.count("row")) == ("queued", "finished", 4)


def test_the_command_prints_a_table(system: Deployment):
    words = [*SUM_LIKE, "n_elements=4096", *SPACE, *CONDITION, "--sort", "-registers"]

    done = run(system.url, "sweep", VECTOR_ADD, *words)

    assert done.returncode == 0, done.stderr
    heads, *rows = (line.split() for line in done.stdout.splitlines())
    registers = [int(row[heads.index("registers")]) for row in rows]
    assert heads[:4] == ["#", "BLOCK_SIZE", "num_warps", "target"]
    assert len(rows) == 6
    assert registers == sorted(registers, reverse=True)
    assert "completed, 6 succeeded" in done.stderr


def test_csv_and_json_have_every_row(system: Deployment):
    words = [*SUM_LIKE, "n_elements=4096", *SPACE, "--limit", "1"]

    as_csv = run(system.url, "sweep", VECTOR_ADD, *words, "--csv")
    as_json = run(system.url, "sweep", VECTOR_ADD, *words, "--json")

    assert len(list(csv.DictReader(io.StringIO(as_csv.stdout)))) == 8
    assert len(json.loads(as_json.stdout)["rows"]) == 8


def test_a_sweep_of_launches_has_verdicts(system: Deployment, tmp_path: Path):
    (tmp_path / "add.toml").write_text(
        'device = "cpu"\ngrid = ["cdiv(n_elements, BLOCK_SIZE)"]\n'
        '[arguments]\nx_ptr = "fp32[100]:uniform"\ny_ptr = "fp32[100]:ones"\n'
        'output_ptr = "fp32[100]:output"\nn_elements = 100\n'
        "[space.constexprs]\nBLOCK_SIZE = [32, 64]\n"
    )

    done = run(
        system.url, "sweep", VECTOR_ADD, "--request", "add.toml",
        "--space", "arguments.n_elements=100,101", "--json", folder=tmp_path,
    )  # fmt: skip

    rows = json.loads(done.stdout)["rows"]
    verdicts = {
        (row["values"]["constexprs.BLOCK_SIZE"], row["values"]["arguments.n_elements"]): row[
            "verdict"
        ]
        for row in rows
    }
    assert done.returncode == 0, done.stderr
    assert verdicts == {
        (block, n): "not_checked" if n == 100 else "out_of_bounds"
        for block in (32, 64)
        for n in (100, 101)
    }


def test_sources_before_and_after_are_compared(system: Deployment, tmp_path: Path):
    text = Path(VECTOR_ADD).read_text()
    (tmp_path / "before.py").write_text(text)
    (tmp_path / "after.py").write_text(text.replace("x + y", "x * y"))

    done = run(
        system.url, "sweep", "before.py", *SUM_LIKE, "n_elements=4096", "BLOCK_SIZE=64",
        "--space", "source=before.py,after.py", "--target", "cuda:90", "--json", folder=tmp_path,
    )  # fmt: skip

    rows = json.loads(done.stdout)["rows"]
    assert [row["values"]["source"] for row in rows] == ["before.py", "after.py"]
    assert len({row["compilation_key"] for row in rows}) == 2


def test_all_that_compiled_is_a_bundle_to_install(system: Deployment, tmp_path: Path):
    words = [*SUM_LIKE, "n_elements=4096", *SPACE, *CONDITION]

    done = run(system.url, "sweep", VECTOR_ADD, *words, "--winners", "all=all.tar", folder=tmp_path)
    sweep_id = done.stderr.rpartition("sweep ")[2].partition(":")[0]
    won = run(system.url, "sweep", "--id", sweep_id, "--winners", "json=-")

    with tarfile.open(tmp_path / "all.tar") as bundle:
        names = bundle.getnames()
    assert "install.py" in names
    assert sum(name.startswith("triton-cache/") for name in names) == 6
    assert (done.returncode, won.returncode) == (0, 2)
    assert "404 no_winner: A sweep over compilations measures no times" in won.stderr


def test_what_is_wrong_with_a_space_is_reported_at_its_flag(system: Deployment):
    words = [*SUM_LIKE, "n_elements=4096", "--target", "cuda:90"]
    axis = run(system.url, "sweep", VECTOR_ADD, *words, "--space", "blocks.N=1")
    where = run(
        system.url, "sweep", VECTOR_ADD, *words, "--space", "BLOCK_SIZE=1", "--where", "N > 2"
    )

    assert (axis.returncode, where.returncode) == (2, 2)
    assert "422 invalid_request: --space blocks.N: unknown axis" in axis.stderr
    assert '--where: "N > 2": there is no value named "N"' in where.stderr


def test_a_terminal_shows_the_table_while_it_fills_and_ctrl_c_leaves_it(
    system: Deployment, on_terminal: Callable[..., OnTerminal], tmp_path: Path
):
    spinning = bodies.running(f"{bodies.ENDLESS}  # one variant of a sweep")["source"]
    (tmp_path / "quick.py").write_text(bodies.running("pass")["source"])
    (tmp_path / "spin.py").write_text(spinning)
    words = ["--signature", "x_ptr=*fp32", "--constexpr", "BLOCK=4", "--target", "cuda:90"]

    command = on_terminal(
        "sweep", "quick.py", *words, "--space", "source=quick.py,spin.py", LINES="40"
    )
    wait_until(lambda: command.reads("1/2") and "quick.py" in command.said, "a row")
    command.process.send_signal(signal.SIGINT)
    code = command.process.wait(timeout=60)
    command.reads("")
    sweep_id = command.said.partition("tritonc get ")[2].split()[0]
    with system.client() as http:
        counts = lambda: http.get(f"/v1/sweeps/{sweep_id}").json()["counts"]  # noqa: E731
        wait_until(lambda: counts().get("running"), "the other row runs")
    seen = json.loads(run(system.url, "get", sweep_id, "--json").stdout)
    ended = run(system.url, "cancel", sweep_id)

    assert code == 130
    assert seen["state"] == "running"
    assert seen["counts"] == {"running": 1, "succeeded": 1}
    assert ended.returncode == 0
