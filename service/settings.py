"""The settings of the service, read from the environment once, at start."""

import ipaddress
import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict

from compiler.request.compile_request import MAX_FILES, MAX_TEXT_CHARS
from compiler.request.limits import RequestLimits
from compiler.request.signature import MAX_PARAMETERS
from jobs.logs import LogFormat, LogLevel
from store.bucket import checked_url
from store.byte_limits import MAX_ANSWER_BYTES
from store.server_url import checked_store_url

MIN_KEY_CHARS = 16
MAX_UNKNOWN = 10
_MAX_CHARS = 64
_PREFIX = "TRITOND_"
OF_OTHERS = frozenset(
    (
        "FLASHINFER_TRACE CACHE_BUDGET_BYTES REFERENCES_BUDGET_BYTES REFERENCES_MEMORY_BYTES "
        "LAUNCH_MEMORY_BYTES INPUTS_GPU_BYTES INPUTS_HOST_BYTES TOOLCHAINS SHARE_NAMESPACES SLOTS "
        "LEASE_S SANDBOX MAX_MEMORY_BYTES CHILDREN_MEMORY_BYTES MAX_IR_BYTES MAX_IR_OPERATIONS "
        "MAX_TENSOR_ELEMENTS BATCH_ELEMENTS URL API_KEY API_KEY_FILE ADMIN_KEY_FILE REDIS_URL_FILE "
        "CACHE_URL_FILE"
    ).split()
)
"""Variables of workers, adapters and clients, without the prefix."""
_ORIGIN = re.compile(r"https?://(?:\*\.)?(?:[\w-]+\.)*[\w-]+(?::(?:\d{1,5}|\*))?", re.ASCII)


class ServiceSettings(BaseSettings):
    """Each field is the environment variable TRITOND_<NAME>."""

    model_config = SettingsConfigDict(env_prefix="TRITOND_", env_ignore_empty=True, frozen=True)

    log: LogLevel = "info"
    """The least level of the lines that are logged."""
    log_format: LogFormat = "text"
    """`json` writes each line of the log as one object."""
    slow_steps: Path | None = None
    """A folder for records of steps of the event loop that took more than 250 ms of CPU time."""
    redis_url: Annotated[str, AfterValidator(checked_store_url)] = "redis://127.0.0.1:6379/0"
    """Jobs, events, workers, API keys; must be `noeviction`."""
    cache_url: Annotated[str, AfterValidator(checked_store_url)] | None = None
    """Records and blobs; default: the same server."""
    ack_replicas: int = Field(default=0, ge=0, le=5)
    """Replicas that must have a write before it is answered, so that no failover loses it."""
    blobs_url: Annotated[str, AfterValidator(checked_url)] | None = None
    """A bucket for large blobs, such as s3://bucket/prefix; default: the cache keeps them."""
    blobs_redirect: bool = False
    """Answer `Prefer: redirect` with signed URLs of the bucket, which clients must reach."""
    host: str = "127.0.0.1"
    """Address to listen on. Any address but loopback needs an API key."""
    port: int = Field(default=8000, ge=0, le=65535)
    allowed_hosts: str = ""
    """Host names, comma-separated, that requests may use if no API key is needed."""
    receipt_key_file: Path | None = None
    """The file of the key that signs receipts; it is made if it does not exist."""
    serious_flags: str | None = Field(default=None, max_length=4096)
    """Flags of programs, comma-separated, that make one incorrect; `none`: none of them."""
    embed_origins: str = ""
    """Origins, comma-separated, whose pages may embed shared states (`/e/...`) in a frame."""
    page_opens_github: bool = False
    """Let the page open files of GitHub and gists, which the browser fetches."""
    admin_key: SecretStr | None = None
    """A first API key with every scope, which lets a service start on any address."""
    max_body_bytes: int = Field(default=8 << 20, ge=1 << 10)
    """The largest request body."""
    max_source_bytes: int = Field(default=1 << 20, ge=1, le=MAX_TEXT_CHARS)
    """The largest `source`."""
    max_posted_ir_bytes: int = Field(default=4 << 20, ge=1, le=MAX_TEXT_CHARS)
    """The largest `ir.text`."""
    max_files: int = Field(default=64, ge=0, le=MAX_FILES)
    """The most further modules of a source."""
    max_module_files: int = Field(default=512, ge=0, le=MAX_FILES)
    """The most further modules of a source that is posted as a `module` of its package."""
    max_program_files: int = Field(default=512, ge=0, le=MAX_FILES)
    """The most further modules of a program, which may bring its package."""
    max_files_bytes: int = Field(default=4 << 20, ge=0, le=MAX_TEXT_CHARS)
    """The total size of a source's further modules."""
    max_parameters: int = Field(default=256, ge=1, le=MAX_PARAMETERS)
    """The most parameters of a kernel."""
    max_specialization_bytes: int = Field(default=64 << 10, ge=2)
    """Each of `signature`, `hints`, `constexprs` and `specialization_data`, as JSON."""
    max_batch_bytes: int = Field(default=16 << 20, ge=1 << 10)
    """The largest request body of a batch."""
    max_batch_answer_bytes: int = Field(default=MAX_ANSWER_BYTES, ge=1 << 10, le=MAX_ANSWER_BYTES)
    """Size of one answer of a batch or of several launches; the rest must be fetched one by one."""
    max_sweep_variants: int = Field(default=10_000, ge=1, le=100_000)
    """The most variants of one sweep."""
    max_sweep_bytes: int = Field(default=8 << 20, ge=1 << 10)
    """Size of the axes' values in all rows of one sweep."""
    max_sweeps_per_caller: int = Field(default=16, ge=1)
    """Unfinished sweeps per caller; more are refused with `too_many_requests`."""
    max_wait_s: float = Field(default=60, ge=0, le=600)
    """The upper limit of `wait`; larger values are clamped."""
    max_queue_length: int = Field(default=10_000, ge=1)
    """Queued jobs per toolchain; more are refused with `queue_full`."""
    max_queue_bytes: int = Field(default=256 << 20, ge=1 << 10)
    """Size of the requests of all queued and running jobs; more get `queue_full`."""
    max_queued_per_caller: int = Field(default=5_000, ge=1)
    """Queued jobs per caller; more are refused with `too_many_requests`."""
    max_kept_bytes_per_caller: int = Field(default=1 << 30, ge=1 << 20)
    """Size of the stored results and batches per caller, and 64 KiB for each of its jobs."""
    max_connections: int = Field(default=10_000, ge=1)
    """Simultaneous client connections; more are refused."""
    head_timeout_s: float = Field(default=10, gt=0)
    """Time in which a request's head must arrive."""
    body_timeout_s: float = Field(default=15, gt=0)
    """Time in which a body must arrive, plus one second per 16 KiB."""
    drain_s: float = Field(default=5, ge=0, le=3600)
    """Time that open requests get after a signal to stop."""
    max_tensor_bytes: int = Field(default=256 << 20, ge=1 << 10)
    """The largest uploaded tensor."""
    max_tensors_bytes: int = Field(default=1 << 30, ge=1 << 10)
    """Total size of the uploaded tensors of one caller."""
    max_bodies_bytes_per_caller: int = Field(default=320 << 20, validate_default=True)
    """Memory for request bodies per caller; beyond it the slowest requests are dropped."""
    max_bodies_bytes: int = Field(default=384 << 20, validate_default=True)
    """Memory for all request bodies; beyond it the slowest requests are dropped."""
    trusted_proxies: str = ""
    """Addresses and networks, comma-separated, whose `X-Forwarded-For` is trusted."""
    max_state_bytes: int = Field(default=2 << 20, ge=1 << 10)
    """The largest state of the web page that a permalink may store."""
    max_states_bytes: int = Field(default=32 << 20, ge=1 << 10)
    """Total compressed size of one caller's page states; the oldest are evicted."""
    memory_cache_bytes: int = Field(default=64 << 20, ge=0)
    """Memory for answers cached in this process, in front of the store."""

    @field_validator("admin_key")
    @classmethod
    def _is_not_guessed(cls, key: SecretStr | None) -> SecretStr | None:
        if key is not None and len(key.get_secret_value()) < MIN_KEY_CHARS:
            raise ValueError(f"a key has at least {MIN_KEY_CHARS} characters; choose a random one")
        return key

    @field_validator("blobs_redirect")
    @classmethod
    def _has_urls_to_sign(cls, redirects: bool, info: ValidationInfo) -> bool:
        url = info.data.get("blobs_url")
        if redirects and "blobs_url" in info.data and (url is None or url.startswith("file:")):
            raise ValueError("set TRITOND_BLOBS_URL to an s3://, gs:// or az:// bucket as well")
        return redirects

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
                    f"{network!r} is not an address or a network such as 10.0.0.0/24"
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
                raise ValueError(f"{origin!r} is not an origin such as https://docs.example.com")
        return written

    @cached_property
    def framing_origins(self) -> tuple[str, ...]:
        """The origins of `embed_origins`."""
        return _listed(self.embed_origins)

    @cached_property
    def request_limits(self) -> RequestLimits:
        """The size limits of a compile request's parts."""
        return RequestLimits(
            source_bytes=self.max_source_bytes,
            ir_bytes=self.max_posted_ir_bytes,
            files=self.max_files,
            module_files=self.max_module_files,
            program_files=self.max_program_files,
            files_bytes=self.max_files_bytes,
            parameters=self.max_parameters,
            specialization_bytes=self.max_specialization_bytes,
        )


def unknown_variables(environment: Iterable[str]) -> list[str]:
    """Return a warning for each variable that looks like a setting, but is not."""
    known = OF_OTHERS | {name.upper() for name in ServiceSettings.model_fields}
    prefixed = (name.upper() for name in environment if name.upper().startswith(_PREFIX))
    unknown = sorted({name.removeprefix(_PREFIX)[:_MAX_CHARS] for name in prefixed} - known)
    warnings = []
    for name in unknown[:MAX_UNKNOWN]:
        close = get_close_matches(name, known, n=1, cutoff=0.75)
        meant = f"; did you mean {_PREFIX}{close[0]}?" if close else ""
        warnings.append(f"{_PREFIX}{name} is not a setting{meant}")
    return warnings


def _listed(written: str) -> tuple[str, ...]:
    return tuple(filter(None, (each.strip() for each in written.split(","))))


def _at_least(value: int, info: ValidationInfo, *names: str) -> int:
    """Return `value`. Raises ValueError where a setting of `names` is larger."""
    # an invalid setting is absent from the data
    least, name = max((info.data.get(name, 0), name) for name in names)
    if value < least:
        raise ValueError(f"{value} is less than TRITOND_{name.upper()}; set {least} or more")
    return value


def wrong_settings(error: ValidationError) -> str:
    """Return the names of invalid variables and why, without their values (they may be secret)."""
    problems = error.errors(include_url=False, include_input=False)
    names = [f"TRITOND_{str(problem['loc'][0]).upper()}" for problem in problems]
    pairs = zip(names, problems, strict=True)
    return "; ".join(f"{name}: {_wrong_value(name, problem)}" for name, problem in pairs)


def _wrong_value(name: str, problem: Mapping[str, Any]) -> str:
    if problem["type"] == "int_parsing" and name.endswith("_BYTES"):
        return f"write a number of bytes without a unit, such as {8 << 20} for 8 MiB"
    return str(problem["msg"]).removeprefix("Value error, ")
