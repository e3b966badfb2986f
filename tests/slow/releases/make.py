"""`python -m tests.slow.releases.make`: a data folder of this version, for the tests of later ones.

Each release adds one, and a released one never changes: `0.1.0.tar.xz` is the folder, and
`0.1.0.json` lists what is in it.
"""

import asyncio
import json
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from compiler.labelled_digest import KEY_VERSION
from service import VERSION
from store.api_keys import ApiKeys
from store.connection import connect
from tests.integration.service import bodies
from tests.integration.service.running import Deployment

FOLDER = Path(__file__).parent
KERNELS = ("vector_add", "loops")
STAGES = ["ttir", "ptx"]
KEPT = ("key", "state", "included", "artifacts")
"""The parts of an answer that no later version may change."""
ADMIN_KEY = "the-admin-key-while-a-release-is-recorded"


def main() -> None:
    """Compile two kernels with an API key, and archive the stopped store."""
    with tempfile.TemporaryDirectory() as temporary:
        deployment = Deployment(Path(temporary), TRITOND_ADMIN_KEY=ADMIN_KEY)
        try:
            deployment.start_store()
            secret = asyncio.run(_key(deployment.redis_url))
            deployment.start_service()
            deployment.start_worker()
            deployment.wait_for_workers()
            content = {
                "secret": secret,
                "key_version": KEY_VERSION,
                "compilations": _compilations(deployment, secret),
            }
        finally:
            deployment.stop()
        (FOLDER / f"{VERSION}.json").write_text(json.dumps(content, indent=1) + "\n")
        with tarfile.open(FOLDER / f"{VERSION}.tar.xz", "w:xz") as tar:
            tar.add(deployment.folder / "data/valkey/appendonlydir", "valkey/appendonlydir")


async def _key(redis_url: str) -> str:
    async with connect(redis_url) as redis:
        _, secret = await ApiKeys(redis).create("reader", ("compile",))
    return secret


def _compilations(deployment: Deployment, secret: str) -> list[dict[str, Any]]:
    requests = [bodies.good(name, include=STAGES) for name in KERNELS]
    with deployment.client(authorization=f"Bearer {secret}") as http:
        answers = [http.post("/v1/compilations?wait=60", json=each).json() for each in requests]
    return [
        {"request": request, "answer": {name: answer[name] for name in KEPT}}
        for request, answer in zip(requests, answers, strict=True)
    ]


if __name__ == "__main__":
    main()
