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
        self.at = AT

    def __call__(self, request):
        self.asked.append(request)
        if request.headers.get("prefer") != "redirect" and "bucket" in request.url.path:
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer
        if request.headers.get("prefer") == "redirect":
            headers = {"Location": self.at, "Tritond-Digest": self.digest}
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
    monkeypatch.setattr("tritonc.exchange.STORAGE_HEADERS", {"Accept-Encoding": "gzip"})
    with Client("http://service", transport=httpx.MockTransport(storage)) as client:
        assert client.artifact("key", "ptx") == BYTES

    assert storage.hosts == ["service"]


NOT_FOLLOWED = [
    "http://127.0.0.1:8110/internal",
    "https://127.0.0.1/internal",
    "https://localhost/internal",
    "https://a.localhost./internal",
    "https://[::1]/internal",
    "https://[::ffff:127.0.0.1]/internal",
    "https://127.1/internal",
    "https://2130706433/internal",
    "https://0.0.0.0/internal",
    "http://169.254.169.254/latest/meta-data",
    "https://[fe80::1%25eth0]/internal",
    "file:///etc/passwd",
    "ftp://storage.example.com/object",
    "//storage.example.com/object",
    "/internal",
    "https:///object",
    "https://user:word@storage.example.com/object",
    "",
]


@pytest.mark.parametrize("at", NOT_FOLLOWED)
def test_a_redirect_to_this_machine_or_its_link_is_not_followed(storage, client, at):
    storage.at = at

    assert client.artifact("key", "ptx") == BYTES
    assert storage.hosts == ["service", "service"]


def test_a_service_with_https_cannot_redirect_to_http(storage):
    storage.at = "http://storage.example.com/object"
    transport = httpx.MockTransport(storage)
    with Client("https://service", transport=transport) as client:
        assert client.artifact("key", "ptx") == BYTES

    assert storage.hosts == ["service", "service"]


def test_a_name_of_loopback_is_not_followed_over_http(storage, client, monkeypatch):
    found = [(2, 1, 6, "", ("127.0.0.1", 0))]
    storage.at = "http://storage.example.com/object"
    monkeypatch.setattr(
        "tritonc.storage_redirect.socket.getaddrinfo",
        lambda name, *_a, **_k: found if name == "storage.example.com" else [],
    )

    assert client.artifact("key", "ptx") == BYTES
    assert storage.hosts == ["service", "service"]


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000", "http://localhost:8000"])
def test_a_service_on_loopback_may_have_its_storage_there(storage, url):
    storage.at = "http://127.0.0.1:9000/bucket/object"
    with Client(url, transport=httpx.MockTransport(storage)) as client:
        assert client.artifact("key", "ptx") == BYTES

    assert [request.url.port for request in storage.asked] == [8000, 9000]
