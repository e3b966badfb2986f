"""`python -m tests.golden record FILE` or `compare FILE`: the answers of one deployment.

Record before a change that should keep all answers, compare after it. Placeholders replace what
differs between runs (ids, keys, digests, times); long texts become a digest.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx

from tests.golden.requests import ASKED, Asked
from tests.integration.service.running import Deployment

_LONG_CHARS = 400
_HEX = re.compile(r"\b[0-9a-f]{12,64}\b|(?<=_)[0-9A-F]{16}(?=_H\b)")
_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_SERIAL = re.compile(r"/v1/(launches|programs|batches|sweeps)/[A-Za-z0-9_-]+")
_VARIES = re.compile(
    r"(_ms|_us|_s|_at|_bytes_used|created|finished|expires)$|^(id|timings_ms|age|created)$"
)
_THOUSANDTHS = re.compile(r"\b\d+\.\d{1,3}(?=,)")  # times, in a table
_HEADERS = ("content-type", "cache-status", "retry-after", "etag", "allow", "location")


def answers() -> dict[str, Any]:
    """Return the answer to each request, by its name."""
    found: dict[str, httpx.Response] = {}
    with tempfile.TemporaryDirectory() as folder:
        deployment = Deployment(Path(folder))
        try:
            deployment.start_store()
            deployment.start_service()
            deployment.start_worker()
            deployment.wait_for_workers()
            with deployment.client() as http:
                for asked in ASKED:
                    found[asked.name] = _ask(http, asked, found)
        finally:
            deployment.stop()
    return {name: _kept(answer) for name, answer in found.items()}


def _ask(http: httpx.Client, asked: Asked, found: dict[str, httpx.Response]) -> httpx.Response:
    def answered(match: re.Match[str]) -> str:
        name, _, member = match[1].partition(":")
        return str(found[name].json()[member or "url"])

    path = re.sub(r"\{([^}]+)\}", answered, asked.path)
    return http.request(
        asked.method, path, json=asked.json, content=asked.content, headers=asked.headers
    )


def _kept(answer: httpx.Response) -> dict[str, Any]:
    headers = {name: answer.headers[name] for name in _HEADERS if name in answer.headers}
    if "json" in answer.headers.get("content-type", ""):
        body = _stable(answer.json())
    else:
        try:
            body = _text(_THOUSANDTHS.sub("<ms>", answer.content.decode()))
        except UnicodeDecodeError:
            body = hashlib.sha256(answer.content).hexdigest()
    return {
        "status": answer.status_code,
        "headers": {name: _words(value) for name, value in headers.items()},
        "body": body,
    }


def _stable(value: Any, name: str = "") -> Any:
    if _VARIES.search(name) and value is not None:
        return f"<{name}>"
    if isinstance(value, dict):
        return {_words(key): _stable(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [_stable(each) for each in value]
    return _text(value) if isinstance(value, str) else value


def _text(value: str) -> str:
    value = _words(value)
    if len(value) > _LONG_CHARS:
        return f"<{len(value)} characters, {hashlib.sha256(value.encode()).hexdigest()}>"
    return value


def _words(value: str) -> str:
    return _HEX.sub("<hex>", _UUID.sub("<uuid>", _SERIAL.sub(r"/v1/\1/<id>", value)))


def differences(before: Any, after: Any, where: str = "") -> list[str]:
    """Return a line for each place at which the two differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        names = [*before, *(name for name in after if name not in before)]
        return [
            line
            for name in names
            for line in differences(before.get(name), after.get(name), f"{where}/{name}")
        ]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return [line for at, pair in pairs for line in differences(*pair, f"{where}/{at}")]
    if before == after:
        return []
    return [f"{where}: {json.dumps(before)[:300]} -> {json.dumps(after)[:300]}"]


def main() -> None:
    """Record or compare."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("what", choices=["record", "compare"])
    parser.add_argument("file", type=Path)
    arguments = parser.parse_args()
    made = answers()
    if arguments.what == "record":
        arguments.file.write_text(json.dumps(made, indent=1, sort_keys=True) + "\n")
        return
    lines = differences(json.loads(arguments.file.read_text()), made)
    print("\n".join(lines) or f"{len(made)} answers are equal")
    sys.exit(bool(lines))


if __name__ == "__main__":
    main()
