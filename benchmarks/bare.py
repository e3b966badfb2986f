"""The baseline of a hit: a bare ASGI handler, one Redis GET, under the service's uvicorn settings.

`python bare.py PORT REDIS_URL KEY`
"""

import sys
from typing import Any

import uvicorn
from redis.asyncio import Redis


class OneGet:
    """Answers every POST with the value of one key: no routing, no validation, no errors."""

    def __init__(self, redis_url: str, key: str) -> None:
        self._redis = Redis.from_url(redis_url)
        self._key = key

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Read the body, get the value, send it."""
        if scope["type"] != "http":
            return
        while (await receive()).get("more_body"):
            pass
        value = await self._redis.get(self._key)
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(value)).encode()),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": value})


if __name__ == "__main__":
    uvicorn.run(
        OneGet(sys.argv[2], sys.argv[3]),
        port=int(sys.argv[1]),
        loop="uvloop",
        http="httptools",
        lifespan="off",
        access_log=False,
        log_level="warning",
        server_header=False,
    )
