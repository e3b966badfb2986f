"""Programs as a feature of the service."""

from programs.flag_kinds import chosen_kinds
from programs.program_kind import PROGRAM
from programs.program_request import EXAMPLE, ProgramRequest
from programs.service import bundle_routes, program_routes
from programs.service.program_submission import PROGRAMS
from programs.stored_programs import Programs
from service.feature import Feature
from service.settings import ServiceSettings


def _check_flags(settings: ServiceSettings) -> None:
    """Raise ValueError if the operator chose a flag that does not exist."""
    try:
        chosen_kinds(settings.serious_flags)
    except ValueError as unknown:
        raise ValueError(f"TRITOND_SERIOUS_FLAGS: {unknown}") from None


FEATURE = Feature(
    tag={
        "name": "programs",
        "description": "Record, replay and check host code that launches kernels.",
    },
    routers=(program_routes.router, bundle_routes.router),
    bodies=(ProgramRequest,),
    kinds=(PROGRAM,),
    owned=(PROGRAMS,),
    stores=(Programs,),
    check=_check_flags,
    batch_examples={"one program": {"kind": "programs", "requests": [EXAMPLE]}},
)
