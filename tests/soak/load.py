"""The load of a soak, and the checks of its answers.

Clients repeat a request until it is answered, like patient users do after a refusal or a lost
connection. They record wrong answers, server errors, and forgotten work.
"""

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.integration.service import bodies
from tests.integration.service.launches import bodies as launches
from tests.soak.costly import costly

CLIENTS = 6
WAIT_S = 5
KERNEL = """
@triton.jit
def kernel(x_ptr, N: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, 32), N)
"""
HOSTILE = (
    "while True: print('spam' * 1000)",
    "import os\nos._exit(0)",
    "import os\nos.kill(os.getppid(), 9)",
    "import os\nfor fd in range(3, 32):\n    try: os.write(fd, b'TRTD' + bytes(200))\n"
    "    except OSError: pass",
    "kept = []\nwhile True: kept.append(bytes(64 << 20))",
)

Judge = Callable[[dict[str, Any]], str | None]


@dataclass(frozen=True)
class CheckedRequest:
    """A POST, and a function that returns the errors in its final answer."""

    path: str
    body: dict[str, Any]
    judge: Judge


@dataclass
class Load:
    """Sends requests until stopped; its fields have the findings."""

    url: str
    chance: random.Random
    answered: Counter[str] = field(default_factory=Counter)
    retried: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    open: int = 0
    stopping: bool = False

    def __post_init__(self) -> None:
        """Start counting."""
        self._numbers = itertools.count(self.chance.randrange(1 << 20))

    async def run(self) -> None:
        """Ask with several clients until `stopping`, and return when all are answered."""
        limits = httpx.Limits(max_keepalive_connections=CLIENTS)
        async with httpx.AsyncClient(base_url=self.url, timeout=60, limits=limits) as http:
            ends = [self._client(http) for _ in range(CLIENTS)]
            for end in await asyncio.gather(*ends, return_exceptions=True):
                if isinstance(end, Exception):
                    self.wrong.append(f"a client ended: {end!r}")

    async def _client(self, http: httpx.AsyncClient) -> None:
        while not self.stopping:
            await self.ask_one(http)

    async def ask_one(self, http: httpx.AsyncClient) -> None:
        """Send a request, and judge its answer."""
        question = self._question()
        self.open += 1
        record = await self._settle(http, question)
        self.open -= 1
        self.answered[question.path] += 1
        if fault := question.judge(record):
            self.wrong.append(f"{question.path}: {fault}: {str(record)[:1000]}")

    async def _settle(self, http: httpx.AsyncClient, question: CheckedRequest) -> dict[str, Any]:
        """Return the final answer, by whatever requests that takes."""
        url = None
        while True:
            answer = await self._ask(http, question, url)
            if answer is None:
                await asyncio.sleep(0.3)
                continue
            if url is not None and answer.status_code == 404:
                self.lost.append(f"{url}: {answer.text[:300]}")
                url = None
                continue
            record: dict[str, Any] = answer.json()
            if not answer.is_success:
                return record | {"state": f"HTTP {answer.status_code}"}
            if record.get("state") in ("queued", "running"):
                url = record["url"]
            elif (problem := record.get("problem")) and problem.get("slug") == "worker_lost":
                self.retried["worker_lost"] += 1
                url = None
            else:
                return record

    async def _ask(
        self, http: httpx.AsyncClient, question: CheckedRequest, url: str | None
    ) -> httpx.Response | None:
        """Return an answer, or None if there is none for now."""
        try:
            if url is None:
                answer = await http.post(question.path, json=question.body, params={"wait": WAIT_S})
            else:
                included = {"include": stages} if (stages := question.body.get("include")) else {}
                answer = await http.get(url, params={"wait": WAIT_S, **included})
        except httpx.TransportError as error:
            self.retried[type(error).__name__] += 1
            return None
        if answer.status_code in (408, 429, 503):
            self.retried[answer.json()["slug"]] += 1
            return None
        return answer

    def _question(self) -> CheckedRequest:
        number = next(self._numbers)
        kinds = (_right, _broken, _launch, _wrong_launch, _hostile, self._costly)
        return self.chance.choices(kinds, weights=(10, 2, 4, 2, 2, 1))[0](number)

    def _costly(self, number: int) -> CheckedRequest:
        path, body, end = costly(self.chance, number)

        def judge(record: dict[str, Any]) -> str | None:
            is_as_expected = (record["state"], record.get("verdict")) == end
            return None if is_as_expected else f"it did not end as {end}"

        return CheckedRequest(path, body, judge)


def _right(number: int) -> CheckedRequest:
    body = {
        "source": bodies.HEADER + KERNEL,
        "signature": {"x_ptr": "*i32:16"},
        "constexprs": {"N": number},
        "target": "cuda:90",
        "include": ["ptx"],
    }

    def judge(record: dict[str, Any]) -> str | None:
        if record["state"] != "succeeded":
            return "a good kernel did not compile"
        return None if str(number) in record["included"]["ptx"] else "it is another kernel's"

    return CheckedRequest("/v1/compilations", body, judge)


def _broken(number: int) -> CheckedRequest:
    body = _right(number).body
    body["source"] = body["source"].replace("tl.arange", "tl.arnge")

    def judge(record: dict[str, Any]) -> str | None:
        is_reported = record["state"] == "failed" and record["problem"]["slug"] == "compile_error"
        return None if is_reported else "a broken kernel is no compile_error"

    return CheckedRequest("/v1/compilations", body, judge)


def _launch(number: int) -> CheckedRequest:
    body = launches.vector_add(32 + number % 64)
    return CheckedRequest("/v1/launches", body, _says("passed"))


def _wrong_launch(number: int) -> CheckedRequest:
    reference = "def reference(x_ptr, y_ptr, **_):\n    return x_ptr - y_ptr\n"
    body = launches.vector_add(32 + number % 64, reference=reference)
    return CheckedRequest("/v1/launches", body, _says("mismatch"))


def _says(verdict: str) -> Judge:
    def judge(record: dict[str, Any]) -> str | None:
        return None if record.get("verdict") == verdict else f"its verdict is not {verdict}"

    return judge


def _hostile(number: int) -> CheckedRequest:
    code = HOSTILE[number % len(HOSTILE)]
    body = bodies.running(f"{code}\n# {number}", timeout_s=2)

    def judge(record: dict[str, Any]) -> str | None:
        return None if record["state"] == "failed" else "a hostile source did not fail"

    return CheckedRequest("/v1/compilations", body, judge)
