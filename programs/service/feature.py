"""Programs as a feature of the service."""

from programs.program_kind import PROGRAM
from programs.program_request import EXAMPLE, ProgramRequest
from programs.service import bundle_routes, program_routes
from programs.service.program_submission import PROGRAMS as JOBS
from programs.stored_programs import Programs
from service.feature import Feature

PROGRAMS = Feature(
    tag={
        "name": "programs",
        "description": "Record, replay and check host code that launches kernels.",
    },
    routers=(program_routes.router, bundle_routes.router),
    bodies=(ProgramRequest,),
    kinds=(PROGRAM,),
    owned=(JOBS,),
    stores=(Programs,),
    batch_examples={"one program": {"kind": "programs", "requests": [EXAMPLE]}},
)
