"""The settings of the service, read from the environment once, at start."""

import ipaddress
import re
from functools import cached_property

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from compiler.request.compile_request import MAX_FILES, MAX_TEXT_CHARS
from compiler.request.limits import RequestLimits
from compiler.request.signature import MAX_PARAMETERS

_ORIGIN = re.compile(r"https?://(?:\*\.)?(?:[\w-]+\.)*[\w-]+(?::(?:\d{1,5}|\*))?", re.ASCII)


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
    allowed_hosts: str = ""
    """Names, separated by commas, that requests may be sent to where no API key is needed."""
    embed_origins: str = ""
    """Origins, separated by commas, whose pages may show what was shared (`/e/...`) in a frame."""
    flashinfer_trace: str | None = None
    """A folder with `definitions` and `workloads`, as flashinfer-bench publishes them."""
    admin_key: SecretStr | None = None
    """A first API key with every scope, so that a service can start on any address."""
    max_body_bytes: int = Field(default=8 << 20, ge=1 << 10)
    """The largest request body."""
    max_source_bytes: int = Field(default=1 << 20, ge=1, le=MAX_TEXT_CHARS)
    """The largest `source`."""
    max_posted_ir_bytes: int = Field(default=4 << 20, ge=1, le=MAX_TEXT_CHARS)
    """The largest `ir.text`."""
    max_files: int = Field(default=64, ge=0, le=MAX_FILES)
    """How many further modules a source may have."""
    max_program_files: int = Field(default=512, ge=0, le=MAX_FILES)
    """How many further modules a program may have, which may bring its package."""
    max_files_bytes: int = Field(default=4 << 20, ge=0, le=MAX_TEXT_CHARS)
    """All further modules of a source together."""
    max_parameters: int = Field(default=256, ge=1, le=MAX_PARAMETERS)
    """How many parameters a kernel may have."""
    max_specialization_bytes: int = Field(default=64 << 10, ge=2)
    """Each of `signature`, `hints`, `constexprs` and `specialization_data`, as JSON."""
    max_batch_bytes: int = Field(default=16 << 20, ge=1 << 10)
    """The largest request body of a batch."""
    max_batch_answer_bytes: int = Field(default=32 << 20, ge=1 << 10)
    """Results of one batch that are answered together; the rest is fetched one by one."""
    max_sweep_variants: int = Field(default=10_000, ge=1, le=100_000)
    """Variants of one sweep."""
    max_sweep_bytes: int = Field(default=32 << 20, ge=1 << 10)
    """What the rows of one sweep may take before anything is known of them: the axes' values."""
    max_sweeps_per_caller: int = Field(default=16, ge=1)
    """Sweeps of one caller that are not over; more are refused with `too_many_requests`."""
    max_wait_s: float = Field(default=60, ge=0, le=600)
    """What `wait` is clamped to."""
    max_queue_length: int = Field(default=10_000, ge=1)
    """Jobs that may wait for one toolchain; more are refused with `queue_full`."""
    max_queue_bytes: int = Field(default=256 << 20, ge=1 << 10)
    """What the requests of all queued and running jobs may take; more are refused alike."""
    max_queued_per_caller: int = Field(default=5_000, ge=1)
    """Jobs of one caller that may wait; more are refused with `too_many_requests`."""
    max_kept_bytes_per_caller: int = Field(default=1 << 30, ge=1 << 10)
    """What results and batches keep of one caller; then jobs are `too_many_requests`."""
    max_connections: int = Field(default=10_000, ge=1)
    """Connections of clients at the same time; further ones are refused."""
    head_timeout_s: float = Field(default=10, gt=0)
    """How long the head of a request may take."""
    body_timeout_s: float = Field(default=15, gt=0)
    """How long a body may take, and a second more for each 16 KiB of it."""
    drain_s: float = Field(default=5, ge=0, le=3600)
    """How long requests may go on when the service is told to stop."""
    max_tensor_bytes: int = Field(default=256 << 20, ge=1 << 10)
    """The largest uploaded tensor."""
    max_tensors_bytes: int = Field(default=1 << 30, ge=1 << 10)
    """All uploaded tensors of one caller together."""
    max_bodies_bytes_per_caller: int = Field(default=320 << 20, validate_default=True)
    """What is held of the bodies of one caller's requests; beyond it the slowest are dropped."""
    max_bodies_bytes: int = Field(default=384 << 20, validate_default=True)
    """What is held of the bodies of all requests; beyond it the slowest are dropped."""
    trusted_proxies: str = ""
    """Addresses and networks, separated by commas, whose `X-Forwarded-For` is believed."""
    max_state_bytes: int = Field(default=2 << 20, ge=1 << 10)
    """The largest state of the web page that is kept for a permalink."""
    max_states_bytes: int = Field(default=32 << 20, ge=1 << 10)
    """All states that one caller stored together, compressed; the oldest give way."""
    memory_cache_bytes: int = Field(default=64 << 20, ge=0)
    """Answers kept in this process, in front of the store."""

    @field_validator("max_bodies_bytes_per_caller")
    @classmethod
    def _holds_the_largest_body(cls, limit_bytes: int, info: ValidationInfo) -> int:
        return _at_least(limit_bytes, info, "max_body_bytes", "max_batch_bytes", "max_tensor_bytes")

    @field_validator("max_bodies_bytes")
    @classmethod
    def _holds_those_of_one_caller(cls, limit_bytes: int, info: ValidationInfo) -> int:
        return _at_least(limit_bytes, info, "max_bodies_bytes_per_caller")

    @field_validator("trusted_proxies")
    @classmethod
    def _are_networks(cls, written: str) -> str:
        for network in _listed(written):
            try:
                ipaddress.ip_network(network)
            except ValueError:
                raise ValueError(
                    f"{network!r} is neither an address nor a network such as 10.0.0.0/24"
                ) from None
        return written

    @cached_property
    def proxies(self) -> tuple[str, ...]:
        """The addresses and networks of `trusted_proxies`."""
        return _listed(self.trusted_proxies)

    @cached_property
    def host_names(self) -> tuple[str, ...]:
        """The names of `allowed_hosts`, in lower case."""
        return _listed(self.allowed_hosts.lower())

    @field_validator("embed_origins")
    @classmethod
    def _are_origins(cls, written: str) -> str:
        for origin in _listed(written):
            if not _ORIGIN.fullmatch(origin):
                raise ValueError(f"{origin!r} is no origin such as https://docs.example.com")
        return written

    @cached_property
    def framing_origins(self) -> tuple[str, ...]:
        """The origins of `embed_origins`."""
        return _listed(self.embed_origins)

    @cached_property
    def request_limits(self) -> RequestLimits:
        """How large the parts of a compile request may be."""
        return RequestLimits(
            source_bytes=self.max_source_bytes,
            ir_bytes=self.max_posted_ir_bytes,
            files=self.max_files,
            program_files=self.max_program_files,
            files_bytes=self.max_files_bytes,
            parameters=self.max_parameters,
            specialization_bytes=self.max_specialization_bytes,
        )


def _listed(written: str) -> tuple[str, ...]:
    return tuple(filter(None, (each.strip() for each in written.split(","))))


def _at_least(value: int, info: ValidationInfo, *names: str) -> int:
    """Return `value`. Raises ValueError where a setting of `names` is larger."""
    # a setting that is wrong itself is not there
    least, name = max((info.data.get(name, 0), name) for name in names)
    if value < least:
        raise ValueError(f"{value} is less than TRITOND_{name.upper()}; set {least} or more")
    return value


def wrong_settings(error: ValidationError) -> str:
    """Return which variables cannot be used, and why; their values are not shown."""
    faults = error.errors(include_url=False, include_input=False)
    return "; ".join(f"TRITOND_{str(fault['loc'][0]).upper()}: {fault['msg']}" for fault in faults)
