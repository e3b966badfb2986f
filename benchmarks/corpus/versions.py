"""Compares the machine code of kernels of PyPI packages between Triton versions.

`PYTHONPATH=benchmarks python -m corpus.versions --url http://127.0.0.1:8000 --package unsloth` asks
needs a tritond with those versions (TRITOND_TOOLCHAINS), and prints the largest growth relative to
the first one: instructions, registers, spills, shared memory, occupancy.
"""

import argparse
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx
from deployment import ROOT

from corpus.packages import PACKAGES, unpacked
from corpus.plans import drawn, plan_of
from corpus.posts import request_of

CACHE = ROOT / ".cache/corpus"
AT_ONCE = 3
SHOWN = 40


@dataclass(frozen=True)
class Made:
    """One Triton's result for a kernel and target."""

    instructions: int
    registers: int
    spills: int
    shared_bytes: int
    occupancy: float


@dataclass(frozen=True)
class Change:
    """Another Triton's result for it."""

    kernel: str
    target: str
    triton: str
    before: Made
    after: Made

    @property
    def growth(self) -> float:
        """The largest relative growth, or loss of occupancy."""
        code = self.after.instructions / max(1, self.before.instructions)
        warps = self.before.occupancy / self.after.occupancy if self.after.occupancy else 1
        spills = (64 + self.after.spills) / (64 + self.before.spills)
        return max(code, warps, spills)


def main() -> None:
    """Compile the kernels and print the changes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--most", type=int, default=20, help="kernels of each package")
    parser.add_argument("--package", action="append", help="only these packages")
    parser.add_argument("--target", action="append", help="default: cuda:80 and hip:gfx950")
    parser.add_argument("--triton", action="append", help="default: 3.6.0, 3.7.1, 3.8.0, 3.9.0")
    arguments = parser.parse_args()
    tritons = arguments.triton or ["3.6.0", "3.7.1", "3.8.0", "3.9.0"]
    targets = arguments.target or ["cuda:80", "hip:gfx950"]
    with httpx.Client(base_url=arguments.url, timeout=400) as client:
        bodies = [
            body
            for package in PACKAGES
            if package.name in (arguments.package or [package.name])
            for body in _bodies(client, package.name, arguments.most)
        ]
        print(f"{len(bodies)} kernels are accepted by the default Triton", flush=True)

        def changes(body: dict[str, Any]) -> list[Change]:
            return list(_changes(client, body, targets, tritons))

        with ThreadPoolExecutor(AT_ONCE) as threads:
            all_changes = [change for of_body in threads.map(changes, bodies) for change in of_body]
    all_changes.sort(key=lambda change: -change.growth)
    for change in all_changes[:SHOWN]:
        print(f"{change.growth:.2f} {change.kernel} {change.target} {change.triton}")
        print(f"     {change.before}\n     {change.after}")


def _bodies(client: httpx.Client, name: str, most: int) -> Iterator[dict[str, Any]]:
    """Yield a request for each kernel, with the first guess that the service accepts."""
    [package] = [p for p in PACKAGES if p.name == name]
    root = unpacked(package, CACHE)
    for kernel in drawn(package, root)[:most]:
        plan = plan_of(kernel)
        for guess in plan["guesses"]:
            body = request_of(root, plan, guess) | {"include": [], "stop_after": None}
            early = body | {"stop_after": "ttir", "target": "cuda:80"}
            if _compiled(client, early) is not None:
                yield body
                break


def _changes(
    client: httpx.Client, body: dict[str, Any], targets: list[str], tritons: list[str]
) -> Iterator[Change]:
    for target in targets:
        made = {t: _made(client, body | {"target": target, "triton": t}) for t in tritons}
        before = made[tritons[0]]
        for triton, after in made.items():
            if before is not None and after is not None and triton != tritons[0]:
                yield Change(f"{body['kernel']}", target, triton, before, after)


def _made(client: httpx.Client, body: dict[str, Any]) -> Made | None:
    compilation = _compiled(client, body)
    if compilation is None:
        return None
    answer = client.get(f"{compilation['url']}/instructions", params={"wait": 60})
    resources = compilation["resources"]
    spills = resources["spill_store_bytes"] + 4 * (resources["vgpr_spills"] or 0)
    return Made(
        answer.json()["total"] if answer.status_code == httpx.codes.OK else 0,
        resources["registers"],
        spills,
        resources["shared_bytes"],
        (resources["occupancy"] or {}).get("ratio") or 0,
    )


def _compiled(client: httpx.Client, body: dict[str, Any]) -> dict[str, Any] | None:
    body = {name: member for name, member in body.items() if member is not None}
    answer = client.post("/v1/compilations", params={"wait": 60}, json=body)
    result: dict[str, Any] = answer.json()
    while result.get("state") in {"queued", "running"}:
        result = client.get(result["url"], params={"wait": 60}).json()
    return result if result.get("state") == "succeeded" else None


if __name__ == "__main__":
    main()
