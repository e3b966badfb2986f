"""Sends cases to a real deployment, and measures what each costs service, worker and store."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from redis import Redis

from tests.cost_fuzz.bars import Row
from tests.cost_fuzz.case import Case
from tests.cost_fuzz.measuring import Meter, ProcessCost, cpu_ns, idle
from tests.cost_fuzz.prepared import Prepared
from tests.cost_fuzz.sending import Answer, Sent, send
from tests.integration.service.running import Deployment

_SETTLE_S = 20.0
_IDLE_S = 1.0
_TRIES = 3
_UNFINISHED = ("queued", "running")
_STATE = re.compile(rb'\{(?:"(?:id|key|url)":"[^"]*",)*"state":"(\w+)"')
_URL = re.compile(rb'\{(?:"(?:id|key|batch_id)":"[^"]*",)*"url":"([^"]+)"')
_COUNTS = re.compile(rb'"counts":(\{[^}]*\})')
_OPEN_ITEMS = re.compile(rb'"(?:queued|running)":[1-9]')
_ACCEPTED, _TOO_MANY = 202, 429
_LOST = ProcessCost(0, 0, "", 0)


class Runner:
    """Measures cases on a deployment, which it starts again where one has broken it."""

    def __init__(self, folder: Path, follow_s: float = 60) -> None:
        """Start a deployment in `folder`; jobs are cancelled after `follow_s`."""
        self._folder = folder
        self._follow_s = follow_s
        self._deployments = 0
        self._start()

    def _start(self) -> None:
        self._deployments += 1
        folder = self._folder / str(self._deployments)
        folder.mkdir()
        self.deployment = Deployment(folder, TRITOND_LOG="debug")
        self.deployment.start_store()
        self.deployment.start_service()
        self.deployment.start_worker()
        self.deployment.wait_for_workers()
        self._prepared = Prepared(self.deployment.url)
        self._prepared.load()
        self._redis = Redis.from_url(self.deployment.redis_url)
        self._entries: set[bytes] = set()
        self._idle_ms_per_s = self._idle_cpu_ms() / _IDLE_S

    def stop(self) -> None:
        """Stop the deployment."""
        self._prepared.close()
        self._redis.close()
        self.deployment.stop()

    def restart(self) -> None:
        """Replace the deployment by a new one."""
        self.stop()
        self._start()

    def measure(self, case: Case) -> Row:
        """Return what a case costs: the least of a few tries if one misses a bar.

        What it costs beyond that is the machine's: other work, or what is loaded only once.
        """
        rows = [self._measure_on_any(case)]
        while rows[-1].violations() and rows[-1].is_near() and len(rows) < _TRIES:
            rows.append(self._measure_on_any(case))
        return min(rows, key=lambda row: (len(row.violations()), row.cpu_ms))

    def _measure_on_any(self, case: Case) -> Row:
        row = self._measure(case)
        if row.died or row.is_busy or row.status in (0, _TOO_MANY):
            self.restart()
        return self._measure(case) if row.status == _TOO_MANY else row

    def _measure(self, case: Case) -> Row:
        sent = case.make(self._prepared)
        service, worker = self._pids()
        self._largest_new()
        used_bytes = self._used_bytes()
        logs = self.deployment.folder
        meters = Meter(service, logs / "service.log"), Meter(worker, logs / "worker.log")
        began_s = time.monotonic()
        answer = self._send(sent, case.clients)
        waited_ms = (time.monotonic() - began_s) * self._idle_ms_per_s
        cpu_ms = max(0.0, meters[0].cpu_ms() - waited_ms)
        state, longest = self._follow(sent, answer)
        is_idle = True
        if died := self._dead():
            costs = (_LOST, _LOST)
        else:
            is_idle = idle([service, worker], _SETTLE_S)
            costs = (meters[0].stop(), meters[1].stop())
        body_bytes = len(sent.body or b"")
        is_json = longest.media_type.endswith("json") and "/tensors/" not in sent.path
        return Row(
            name=case.name,
            status=answer.status,
            state=state,
            items=sent.items,
            clients=case.clients,
            body_bytes=body_bytes,
            streamed_bytes=0 if is_json else max(body_bytes, longest.size_bytes),
            json_bytes=longest.size_bytes if is_json else 0,
            cpu_ms=cpu_ms,
            service=costs[0],
            worker=costs[1],
            kept_bytes=0 if died else self._used_bytes() - used_bytes,
            largest_bytes=0 if died else self._largest_new(),
            died=died,
            is_busy=not is_idle,
        )

    def _send(self, sent: Sent, clients: int) -> Answer:
        url = self.deployment.url
        if clients == 1:
            return send(url, sent)
        with ThreadPoolExecutor(clients) as pool:
            answers = list(pool.map(lambda _: send(url, sent), range(clients)))
        return min(answers, key=lambda answer: answer.status)

    def _follow(self, sent: Sent, answer: Answer) -> tuple[str, Answer]:
        """Wait for the job of an answer; return its last state, and the longest answer."""
        if answer.status != _ACCEPTED:
            return _state(answer), answer
        url = _URL.match(answer.start)
        path = url[1].decode() if url else sent.path.partition("?")[0]
        until, longest, last = time.monotonic() + self._follow_s, answer, answer
        while _is_open(last) and time.monotonic() < until:
            last = send(self.deployment.url, Sent("GET", f"{path}?wait=5"))
            longest = max(longest, last, key=lambda each: each.size_bytes)
        if _is_open(last):
            send(self.deployment.url, Sent("DELETE", path))
        return _state(last), longest

    def _idle_cpu_ms(self) -> float:
        """Return what the service spends in `_IDLE_S` without requests."""
        service, _ = self._pids()
        idle([service], _SETTLE_S)
        before_ns = cpu_ns(service)
        time.sleep(_IDLE_S)
        return (cpu_ns(service) - before_ns) / 1e6

    def _pids(self) -> tuple[int, int]:
        assert self.deployment.service is not None
        return self.deployment.service.pid, self.deployment.workers[0].pid

    def _dead(self) -> str:
        assert self.deployment.service is not None
        parts = {"service": self.deployment.service, "worker": self.deployment.workers[0]}
        return ", ".join(name for name, part in parts.items() if not part.still_runs())

    def _used_bytes(self) -> int:
        return int(self._redis.info("memory")["used_memory"])

    def _largest_new(self) -> int:
        """Return the bytes of the largest entry since the last call."""
        entries = set(self._redis.scan_iter(count=5000))
        new, self._entries = entries - self._entries, entries
        sizes = [self._redis.memory_usage(name, samples=0) or 0 for name in new]
        return max(sizes, default=0)


def _is_open(answer: Answer) -> bool:
    """Return whether an answer is of work that is not over."""
    counts = _COUNTS.search(answer.start)
    open_items = counts is not None and _OPEN_ITEMS.search(counts[1]) is not None
    is_unfinished = _state(answer) in _UNFINISHED
    return answer.status == _ACCEPTED or is_unfinished or (open_items and not _state(answer))


def _state(answer: Answer) -> str:
    """Return the state of the job that an answer is about; empty without one.

    It is near the start, and the answer may be too long to be parsed.
    """
    state = _STATE.match(answer.start)
    return state[1].decode() if state else ""
