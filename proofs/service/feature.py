"""Proofs as a feature of the service."""

from proofs.proof_kind import PROOF
from proofs.proof_request import ProofRequest
from proofs.service import proof_routes
from proofs.service.proof_submission import PROOFS
from proofs.stored_proofs import Proofs
from service.feature import Feature

FEATURE = Feature(
    tag={"name": "proofs", "description": "A kernel's accesses, proved for all sizes."},
    routers=(proof_routes.router,),
    bodies=(ProofRequest,),
    kinds=(PROOF,),
    owned=(PROOFS,),
    stores=(Proofs,),
)
