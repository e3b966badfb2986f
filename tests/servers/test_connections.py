"""TLS, an ACL user, a sharded cluster: what a store is reached with, and what is refused."""

from __future__ import annotations

import asyncio
import datetime as dt
import ipaddress
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from store.connection import connect
from store.errors import StoreUnavailable
from tests.integration.service import bodies
from tests.integration.service.launches import bodies as launches
from tests.integration.service.running import Deployment, Process, free_port
from tests.servers.conftest import Replicated, Server
from tests.waiting import wait_until

ACL = "user tritond on >a-long-secret ~tritond:* &tritond:* +@all -@admin -@dangerous +info +keys"
"""The user of docs/how-to/operating.md."""


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A self-signed certificate for 127.0.0.1, with its key in the same file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "store")])
    now = dt.datetime.now(dt.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = tmp_path / "certificate.pem"
    pem.write_bytes(
        signed.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return pem


async def ping(url: str) -> bool:
    async with connect(url) as store:
        return bool(await store.ping())


def test_a_server_with_tls_is_reached_by_its_certificate_only(
    start: Callable[..., Server], certificate: Path
) -> None:
    binary = shutil.which("redis-server")
    if binary is None:
        pytest.skip("the embedded Valkey has no TLS, and there is no redis-server on PATH")
    port = free_port()
    files = (f"tls-cert-file {certificate}", f"tls-key-file {certificate}", "tls-auth-clients no")
    start(f"tls-port {port}", *files, binary=binary).wait_until_it_answers()
    url = f"rediss://127.0.0.1:{port}/0"

    assert asyncio.run(ping(f"{url}?ssl_ca_certs={certificate}"))
    with pytest.raises(StoreUnavailable, match="certificate verify failed"):
        asyncio.run(ping(url))


async def refusal(url: str) -> str:
    with pytest.raises(StoreUnavailable) as refused:
        await ping(url)
    return str(refused.value)


def test_an_error_says_what_each_sentinel_says_and_what_to_set(
    replicated: Replicated, start: Callable[..., Server]
) -> None:
    locked = start("requirepass a-long-secret")
    wait_until(lambda: "initialized" in (locked.folder / "server.log").read_text(), "it is up")
    here = f"127.0.0.1:{locked.port}"
    said = {
        url: asyncio.run(refusal(url))
        for url in (
            replicated.url.replace("mymaster", "other"),
            f"redis+sentinel://{here}/mymaster/0",
            f"redis+sentinel://:word@127.0.0.1:{free_port()}/mymaster/0",
            f"redis+sentinel://{here}/mymaster/0?sentinel_password=a-long-secret",
            f"redis://:wrong@{here}/0",
            f"redis://:a-long-secret@{here}/99",
        )
    }

    for answer, reason in zip(
        said.values(),
        (
            "knows other masters: mymaster",
            f"{here} refuses the password: set sentinel_password",
            "does not answer: Error 111",
            "is it a Sentinel",
            "refuses the user or the password. Write them into its URL",
            "no database of this number",
        ),
        strict=True,
    ):
        assert reason in answer
        assert "secret" not in answer
        assert "wrong" not in answer


def test_a_sentinel_that_answers_nothing_does_not_hide_the_others(replicated: Replicated) -> None:
    replicated.sentinels[0].pause()

    assert asyncio.run(ping(replicated.url))


@pytest.fixture
def acl(start: Callable[..., Server]) -> Server:
    server = start(ACL, "user default off", 'save ""')

    def refuses_strangers() -> bool:
        try:
            with server.client() as client:
                client.ping()
        except redis.AuthenticationError:
            return True
        except redis.ConnectionError:
            return False
        return False

    wait_until(refuses_strangers, "the server asks for a password")
    return server


@pytest.fixture
def deployment(tmp_path: Path, acl: Server) -> Iterator[Deployment]:
    found = Deployment(tmp_path)
    found.use_store(f"redis://tritond:a-long-secret@127.0.0.1:{acl.port}/0")
    found.start_service()
    found.start_worker()
    found.wait_for_workers()
    yield found
    found.stop()


def test_an_acl_user_may_all_that_a_deployment_needs(deployment: Deployment, acl: Server) -> None:
    with deployment.client() as http:
        compiled = http.post("/v1/compilations?wait=60", json=bodies.good("vector_add")).json()
        launched = http.post("/v1/launches?wait=60", json=launches.vector_add()).json()
        system = http.get("/v1/system").json()

    assert compiled["state"] == "succeeded"
    assert launched["verdict"] == "passed"
    assert system["store"]["reachable"] is True
    assert "NOPERM" not in deployment.said()


@pytest.mark.parametrize("module", ["service", "worker"])
def test_a_wrong_password_is_reported_without_it(acl: Server, tmp_path: Path, module: str) -> None:
    url = f"redis://tritond:wrong-secret@127.0.0.1:{acl.port}/0"

    said = started(module, url, tmp_path, "refuses the user or the password")

    assert "wrong-secret" not in said


@pytest.mark.parametrize("module", ["service", "worker"])
def test_a_sharded_cluster_is_refused(
    start: Callable[..., Server], tmp_path: Path, module: str
) -> None:
    server = start("cluster-enabled yes")
    server.wait_until_it_answers()

    said = started(module, server.url, tmp_path, "The store is a node of a sharded cluster.")

    assert "redis+sentinel://" in said, "what to use instead"


def started(module: str, redis_url: str, folder: Path, expected: str) -> str:
    """Start a part on this store, and return what it logged once that contains `expected`."""
    log = folder / f"{module}.log"
    part = Process(log, "-m", module, TRITOND_REDIS_URL=redis_url, TRITOND_PORT=str(free_port()))
    try:
        wait_until(lambda: expected in part.said, expected, lambda: part.said)
    finally:
        part.kill()
    return part.said
