"""The files of a launch next to its record (outputs and traces), and the bounds of its answer."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from compiler.compilation import amended
from compiler.diagnostic import clipped
from launch.messages import Finding
from launch.profile_record import Profile
from launch.request.launch_record import Output, launch_url
from launch.request.launch_request import ReturnMode
from store.blobs import Blobs
from store.launches import Launches
from worker.launch.run import PreparedRun

MAX_VALUES = 131_072
"""Elements that a launch answers as `values`, of all its cases together."""
MAX_STDOUT_CHARS = 256 << 10
MAX_FINDINGS = 500
MAX_FINDING_CHARS = 256 << 10
"""The limit for the texts of all findings of a launch, all cases together."""
FINDINGS_OF_ANY_CASE = 3
"""The number of findings of each case that are always answered, with clipped messages."""
SHORT_MESSAGE_CHARS = 300
MAX_PROFILED_INSTRUCTIONS = 5_000
"""The limit for the profiles of all cases together; their lines are always answered."""


class LaunchFiles:
    """Files, printed text and findings of one launch; `has_cases`: URLs must name the case."""

    def __init__(self, launch_id: str, blobs: Blobs, *, has_cases: bool) -> None:
        self._launch_id = launch_id
        self._blobs = blobs
        self._has_cases = has_cases
        self._digests: dict[str, str] = {}
        self._values_left = MAX_VALUES
        self._stdout = ""
        self._findings_left = MAX_FINDINGS
        self._finding_chars_left = MAX_FINDING_CHARS
        self._instructions_left = MAX_PROFILED_INSTRUCTIONS

    @property
    def stdout(self) -> str:
        """The printed output of all cases, up to a bound."""
        return self._stdout

    def add_stdout(self, text: str) -> None:
        """Add what a case printed."""
        if len(self._stdout) < MAX_STDOUT_CHARS:
            self._stdout += clipped(text, MAX_STDOUT_CHARS - len(self._stdout))

    def bound_findings(self, findings: Sequence[Finding]) -> list[Finding]:
        """Return the findings of one case that there is room for, and how many are left out."""
        answered: list[Finding] = []
        for number, finding in enumerate(findings):
            if self._findings_left <= 0 or self._finding_chars_left <= 0:
                if number >= FINDINGS_OF_ANY_CASE:
                    missing = f"{len(findings) - number} more findings were not kept."
                    return [*answered, Finding(kind="warning", message=missing)]
                short = clipped(finding.message, SHORT_MESSAGE_CHARS)
                finding = replace(finding, message=short)
            self._findings_left -= 1
            self._finding_chars_left -= len(finding.message)
            answered.append(finding)
        return answered

    def bound_profile(self, profile: Profile | None) -> Profile | None:
        """Return the profile of one case; its instructions only where there is room for them."""
        if profile is None or profile.sass is None:
            return profile
        if len(profile.sass) > self._instructions_left:
            missing = len(profile.sass) + (profile.sass_left_out or 0)
            return amended(profile, sass=[], sass_left_out=missing)
        self._instructions_left -= len(profile.sass)
        return profile

    def choose_returned(
        self, returned: Mapping[str, ReturnMode], run: PreparedRun
    ) -> dict[str, ReturnMode]:
        """Return what each output of `run` is answered as: no more values than there may be."""
        choose_returned: dict[str, ReturnMode] = {}
        for name, output in run.bound.outputs.items():
            choose_returned[name] = returned.get(name, "summary")
            if choose_returned[name] == "values":
                elements = prod(output.shape)
                if elements > self._values_left:
                    choose_returned[name] = "summary"
                else:
                    self._values_left -= elements
        return choose_returned

    async def add_outputs(
        self, case: int, outputs: Mapping[str, Output], files: Mapping[str, bytes]
    ) -> dict[str, Output]:
        """Store the files of a case's outputs; return the outputs with their URLs."""
        if not files:
            return dict(outputs)
        digests = await self._blobs.put_many(list(files.values()))
        stored = dict(outputs)
        for name, digest in zip(files, digests, strict=True):
            self._digests[f"{case}/{name}"] = digest
            url = f"{launch_url(self._launch_id)}/outputs/{name}"
            if self._has_cases:
                url += f"?case={case}"
            stored[name] = amended(stored[name], url=url)
        return stored

    async def add_trace(self, case: int, trace: bytes) -> None:
        """Store the trace of a case."""
        self._digests[f"{case}/"] = await self._blobs.put(trace)

    async def save_digests(self, launches: Launches, *, is_first: bool) -> None:
        """Save under which digest each of the files is stored.

        Nothing is to be saved where there are none, and no earlier attempt can have saved others.
        """
        if self._digests or not is_first:
            await launches.keep_outputs(self._launch_id, self._digests)
