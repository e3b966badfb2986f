from collections.abc import Iterator

import pytest
from fake_tritond import FakeTritond
from tritonc import Client


@pytest.fixture
def tritond() -> FakeTritond:
    return FakeTritond()


@pytest.fixture
def client(tritond: FakeTritond) -> Iterator[Client]:
    with Client("http://tritond.test:8000", api_key="secret", transport=tritond) as client:
        yield client
