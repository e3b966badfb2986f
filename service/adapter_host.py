"""The part of the service that adapters may use in addition to its public HTTP API.

An adapter serves another project's API. It asks the public API for everything that a route answers.
What no route can do is here: check a caller, read a limit, keep the adapter's own data, and count
the queued programs for callers without the scope `admin`.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from fastapi import Request

from service.caller import Caller
from service.program_runners import ProgramRunner, known_runners
from service.state import FeatureStore, ServiceState, state_of

_Given = ParamSpec("_Given")
_Made = TypeVar("_Made")


class AdapterHost:
    """The service, as adapters see it."""

    def __init__(self, state: ServiceState) -> None:
        self._state = state

    @property
    def max_body_bytes(self) -> int:
        """The largest request body."""
        return self._state.settings.max_body_bytes

    @property
    def max_batch_bytes(self) -> int:
        """The largest request body of a batch."""
        return self._state.settings.max_batch_bytes

    @property
    def max_wait_s(self) -> float:
        """The upper limit of `wait` in one request."""
        return self._state.settings.max_wait_s

    async def identify(self, request: Request, *scopes: str) -> Caller:
        """Return the caller of `request`, who must have one of `scopes`. Raises ProblemRaised."""
        return await self._state.callers.identify(request, *scopes)

    def store(self, kind: type[FeatureStore]) -> FeatureStore:
        """Return the data that the adapter keeps, by a class of its `Feature.stores`."""
        return self._state.store(kind)

    async def in_thread(
        self, make: Callable[_Given, _Made], *args: _Given.args, **kwargs: _Given.kwargs
    ) -> _Made:
        """Return what `make` returns, called in one of the caller's threads."""
        return await self._state.threads.run(make, *args, **kwargs)

    async def program_runners(self) -> list[ProgramRunner]:
        """Return all toolchains and GPU classes that run programs."""
        return await known_runners(self._state)

    async def queued_programs(self, runner: ProgramRunner) -> int:
        """Return how many programs wait for `runner`."""
        return await self._state.jobs.queued(runner.lane)


def host_of(request: Request) -> AdapterHost:
    """Return the service that received `request`."""
    return AdapterHost(state_of(request))
