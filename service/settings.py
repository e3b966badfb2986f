"""The settings of the service, read from the environment once, at start."""

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class ServiceSettings(BaseSettings):
    """Each field is the environment variable TRITOND_<NAME>."""

    model_config = SettingsConfigDict(env_prefix="TRITOND_", env_ignore_empty=True, frozen=True)

    redis_url: str = "redis://127.0.0.1:6379/0"
    """Jobs, events, workers, API keys; must be `noeviction`."""
    cache_url: str | None = None
    """Records and blobs; default: the same server."""
    host: str = "127.0.0.1"
    """Any address but loopback needs an API key to exist."""
    port: int = Field(default=8000, ge=0, le=65535)
    admin_key: SecretStr | None = None
    """A first API key with every scope, so that a service can start on any address."""
    max_body_bytes: int = Field(default=1 << 20, ge=1 << 10)
    """The largest request body."""
    max_wait_s: float = Field(default=60, ge=0, le=600)
    """What `wait` is clamped to."""
    max_queue_length: int = Field(default=10_000, ge=1)
    """Jobs that may wait for one toolchain; more are refused with `queue_full`."""
    max_queued_per_caller: int = Field(default=5_000, ge=1)
    """Jobs of one caller that may wait; more are refused with `too_many_requests`."""
    max_tensor_bytes: int = Field(default=256 << 20, ge=1 << 10)
    """The largest uploaded tensor."""
    max_tensors_bytes: int = Field(default=1 << 30, ge=1 << 10)
    """All uploaded tensors of one caller together."""
    memory_cache_bytes: int = Field(default=64 << 20, ge=0)
    """Answers kept in this process, in front of the store."""
    memory_meanings: int = Field(default=50_000, ge=0)
    """Requests whose compile key is kept in this process, so that they are not read again."""
