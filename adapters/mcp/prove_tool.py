"""The tool that proves a kernel's accesses for all sizes."""

from collections import Counter
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import Request

from adapters.mcp.assumed_values import chosen_kernel, completed_of
from adapters.mcp.remedies import remedy
from adapters.mcp.short_answer import ToolAnswer, answer, refused
from adapters.mcp.tool_arguments import ProveArguments
from service.adapter_host import host_of
from service.http.inner_request import ask_itself

PROOFS = "/v1/proofs"
_CHECKS = {"bounds": "in bounds", "overflow": "32-bit overflow", "race": "no race"}
_ADVICE = {
    "bounds": "out of bounds: a mask",
    "overflow": "overflow: .to(tl.int64)",
    "race": "race: its own elements for each program, or an atomic",
}
_BITS = {
    "agrees": "agrees with",
    "timeout": "reached its limit for",
    "not_modelled": "does not cover",
}
_MAX_SHOWN = 12


async def prove(request: Request, arguments: ProveArguments) -> ToolAnswer:
    """Prove a kernel against its contract, and return what is not proved.

    Without a contract, the answer is a draft of one. Types that are missing are assumed.
    """
    body = arguments.model_dump(exclude_none=True)
    kernel = await chosen_kernel(request, body)
    if arguments.contract is None and kernel is not None:
        return _draft(kernel["contract"])
    made = None if kernel is None else completed_of(kernel, body, with_hints=False)
    body, assumes = made or (body, "")
    query = {"wait": host_of(request).max_wait_s}
    asked = await ask_itself(request, "POST", PROOFS, body, query)
    if asked.is_problem:
        return refused(asked.json)
    proof = asked.json
    head = f"proof {proof['id']}: {proof['verdict'] or proof['state']}"
    head = "\n".join(filter(None, (head, assumes)))
    facts: dict[str, Any] = {name: proof[name] for name in ("state", "verdict")}
    facts["id"] = proof["id"]
    if asked.status == HTTPStatus.ACCEPTED:
        return answer(head, next_step="prove again; the work continues meanwhile", **facts)
    if (problem := proof["problem"]) is not None:
        facts |= {name: problem[name] for name in ("fault", "slug", "line")}
        reason = f"{problem['slug']}: {problem['detail']}"
        return answer(head, reason, next_step=remedy(problem, {}, "prove"), **facts)
    lines = list(_lines(proof["accesses"]))
    hidden = f"… and {len(lines) - _MAX_SHOWN} more" if len(lines) > _MAX_SHOWN else ""
    step = _step(proof["verdict"], proof["accesses"])
    shown = lines[:_MAX_SHOWN]
    shown += [hidden, _rechecked(proof["accesses"])]
    return answer(head, proof["reason"] or "", *shown, next_step=step, **facts)


def _draft(contract: str) -> ToolAnswer:
    is_open = any("?" in line.partition("#")[0] for line in contract.splitlines())
    return answer(
        "A proof needs a contract: what holds for every launch of the kernel. This is a draft:",
        contract.replace("docs/reference/proofs.md", "tritond://docs/proofs"),
        next_step=(
            f"{'replace each ? of the draft, check the rest,' if is_open else 'check the draft'} "
            "and prove with it as `contract`"
        ),
        is_refusal=True,
        fault="request",
        arguments=[{"argument": "contract", "message": "a proof needs one"}],
    )


def _lines(accesses: list[Mapping[str, Any]]) -> Iterator[str]:
    for access in accesses:
        place = f"{access['file']}:{access['line']}: {access['kind']} {access['argument']}"
        for check, title in _CHECKS.items():
            result = access[check]
            if result is None:
                continue
            yield f"{place}: {title}: {result['verdict']}{_why(result)}"


def _why(result: Mapping[str, Any]) -> str:
    if result["replay"] is not None:
        sizes = ", ".join(f"{name} = {size}" for name, size in result["replay"]["sizes"].items())
        return f" at {sizes}: {result['replay']['message']}{_fix(result['fix'])}"
    return f" ({result['reason']})" if result["reason"] else ""


def _rechecked(accesses: list[Mapping[str, Any]]) -> str:
    """Return what the re-checks of all proofs saw, "" without any."""
    answers = [access[check] for access in accesses for check in _CHECKS if access[check]]
    seen = [result["rechecked"] for result in answers if result["rechecked"]]
    if not seen:
        return ""
    least = min(item["runs"] for item in seen)
    unseen = sum(not item["runs"] and item["bits"] != "agrees" for item in seen)
    gap = f"; {unseen} of {len(seen)} proofs were not re-checked" if unseen else ""
    runs = f"at least {least} runs agree with each proof" if least else "no run tried some proofs"
    return (
        f"re-checked: {runs}; the bit-vector check {_by_bits([item['bits'] for item in seen])}{gap}"
    )


def _by_bits(outcomes: list[str]) -> str:
    """Return the number of proofs by outcome of bit-vectors; a limit is not a disagreement."""
    counts = Counter(outcomes)
    return ", ".join(
        f"{verb} {counts[outcome]} of {len(outcomes)} proofs"
        for outcome, verb in _BITS.items()
        if counts[outcome]
    )


def _fix(fix: Mapping[str, Any] | None) -> str:
    """Return the changed lines that are proved, "" without any."""
    lines = [] if fix is None else fix["patch"].splitlines()
    added = [
        item[1:].strip() for item in lines if item.startswith("+") and not item.startswith("+++")
    ]
    return f"; proved with: {'; '.join(added)}" if added else ""


def _step(verdict: str | None, accesses: list[Mapping[str, Any]]) -> str:
    if verdict == "refuted":
        refuted = {
            check
            for access in accesses
            for check in _CHECKS
            if access[check] and access[check]["verdict"] == "refuted"
        }
        advice = ", ".join(text for check, text in _ADVICE.items() if check in refuted)
        return f"fix the refuted lines ({advice}), and prove again"
    if verdict == "proved":
        return "launch with a reference to check values, too"
    return "add more to the contract, such as `values idx_ptr: 0 .. n`, and prove again"
