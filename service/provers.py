"""Refuses what needs a proof where no worker proves kernels."""

from compiler.rejection import FieldError, RequestRejected
from service.state import ServiceState


async def check_prover(state: ServiceState, at: str) -> None:
    """Raise RequestRejected, with the JSON pointer `at`, if there are workers and none proves."""
    if not await state.workers.may_prove():
        message = (
            "no worker of this deployment proves kernels. Install z3-solver in a worker's "
            "environment (`pip install 'tritond[worker]'` does) and restart that worker"
        )
        raise RequestRejected(FieldError(at, message))
