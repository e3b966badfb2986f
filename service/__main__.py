"""`python -m service`: the HTTP service under uvicorn, until it gets a signal to stop."""

import argparse
import asyncio
import gc
import logging
import sys

from pydantic import ValidationError

from jobs import tracing
from jobs.logs import log_as
from service.caller import SCOPES, is_loopback
from service.composition import FEATURES, composed_app
from service.receipt_key import InvalidReceiptKey, receipt_key
from service.server import HttpServer
from service.settings import ServiceSettings, wrong_settings
from store.api_keys import ApiKeys
from store.connection import connect, refuse_sharded_cluster
from store.errors import ShardedCluster, StoreUnavailable

logger = logging.getLogger("service")


async def prepare_keys(settings: ServiceSettings) -> bool:
    """Store the admin key of the settings, if there is one, and return whether any key exists."""
    redis = connect(settings.redis_url, ack_replicas=settings.ack_replicas)
    try:
        await refuse_sharded_cluster(redis)
        api_keys = ApiKeys(redis)
        if settings.admin_key is not None:
            await api_keys.adopt(settings.admin_key.get_secret_value(), "admin", SCOPES)
        return await api_keys.any()
    finally:
        await redis.aclose()


def _check(settings: ServiceSettings) -> None:
    """Exit with the cause if a setting cannot be used, before anything starts."""
    try:
        for feature in FEATURES:
            if feature.check is not None:
                feature.check(settings)
        receipt_key(settings.receipt_key_file)
    except InvalidReceiptKey as error:
        sys.exit(f"tritond api: TRITOND_RECEIPT_KEY_FILE: {error}")
    except ValueError as error:
        sys.exit(f"tritond api: {error}")


def main() -> None:
    """Serve. Exit status 2: the settings do not allow it. 3: the store is not reachable.

    4: an essential part of the service ended; see the log.
    """
    try:
        settings = ServiceSettings()
    except ValidationError as error:
        sys.exit(f"tritond api: {wrong_settings(error)}")
    _check(settings)
    log_as(settings.log_format, settings.log)
    try:
        tracing.start("service")
    except tracing.TracingMissing as error:
        sys.exit(f"tritond api: {error}")
    try:
        has_keys = asyncio.run(prepare_keys(settings))
    except ShardedCluster as error:
        logger.error("%s", error)  # noqa: TRY400
        sys.exit(2)
    except StoreUnavailable as error:
        # never show the URL: it may hold a password
        logger.error("%s Is TRITOND_REDIS_URL right?", error)  # noqa: TRY400
        sys.exit(3)
    if not is_loopback(settings.host) and not has_keys:
        logger.error(
            "refusing to listen on %s: no API key exists, so anyone could run code here. "
            "Make one with `tritond key create`, set TRITOND_ADMIN_KEY, or listen on 127.0.0.1.",
            settings.host,
        )
        sys.exit(2)
    app = composed_app(settings)
    # these objects live as long as the process: spare the collector from walking them
    gc.collect()
    gc.freeze()
    server = HttpServer(app, settings)
    server.run()
    if not server.started:
        sys.exit(3)
    if app.state.failed:
        sys.exit(4)


if __name__ == "__main__":
    argparse.ArgumentParser(
        prog="python -m service",
        description="Run the service, as `tritond api` does. Settings come from the environment.",
    ).parse_args()
    main()
