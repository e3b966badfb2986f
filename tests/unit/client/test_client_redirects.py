"""The client fetches redirected blobs from object storage, checks them, and sends no API key."""

import hashlib

import httpx
import pytest
from tritonc import Client

BYTES = b"// ptx\n" * 1000
DIGEST = f"sha256:{hashlib.sha256(BYTES).hexdigest()}"
AT = "https://storage.example.com/bucket/object?signature=1"


class Storage:
    """A fake service that redirects to a storage; a test chooses the storage's `answer`."""

    def __init__(self):
        self.asked = []
        self.answer = httpx.Response(200, content=BYTES)
        self.digest = DIGEST

    def __call__(self, request):
        self.asked.append(request)
        if request.url.host == "storage.example.com":
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer
        if request.headers.get("prefer") == "redirect":
            headers = {"Location": AT, "Tritond-Digest": self.digest}
            return httpx.Response(307, headers=headers)
        return httpx.Response(200, content=BYTES)

    @property
    def hosts(self):
        return [request.url.host for request in self.asked]


@pytest.fixture
def storage():
    return Storage()


@pytest.fixture
def client(storage):
    transport = httpx.MockTransport(storage)
    with Client("http://service", api_key="secret", transport=transport) as client:
        yield client


def test_an_artifact_is_fetched_from_the_storage(client, storage):
    assert client.artifact("key", "ptx") == BYTES
    assert storage.hosts == ["service", "storage.example.com"]


def test_the_api_key_is_not_sent_to_the_storage(client, storage):
    client.artifact("key", "ptx")

    to_service, to_storage = storage.asked
    assert to_service.headers["authorization"] == "Bearer secret"
    assert "secret" not in str(to_storage.headers)
    assert "authorization" not in to_storage.headers


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(httpx.Response(200, content=BYTES[:-1]), id="other bytes"),
        pytest.param(httpx.Response(403, content=BYTES), id="expired"),
        pytest.param(httpx.Response(302, headers={"Location": "http://elsewhere"}), id="further"),
        pytest.param(httpx.ConnectError("unreachable"), id="out of reach"),
        pytest.param(
            httpx.Response(
                200, headers={"Content-Encoding": "gzip"}, stream=httpx.ByteStream(b"-")
            ),
            id="undecodable",
        ),
    ],
)
def test_what_the_storage_does_not_have_comes_from_the_service(client, storage, answer):
    storage.answer = answer

    assert client.artifact("key", "ptx") == BYTES
    assert storage.hosts == ["service", "storage.example.com", "service"]

    assert client.artifact("key", "ttir") == BYTES
    assert storage.hosts[3:] == ["service"], "the storage is not asked again"


def test_a_client_that_cannot_read_zstd_asks_for_no_redirect(storage, monkeypatch):
    monkeypatch.setattr("httpx._client.ACCEPT_ENCODING", "gzip, deflate")
    with Client("http://service", transport=httpx.MockTransport(storage)) as client:
        assert client.artifact("key", "ptx") == BYTES

    assert storage.hosts == ["service"]
