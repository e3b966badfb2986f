"""What a launch keeps beside its record: files of outputs and traces, and what it printed."""

from collections.abc import Mapping, Sequence
from math import prod

from compiler.compilation import amended
from compiler.diagnostic import clipped
from launch.request.launch_record import Finding, Output, launch_url
from store.blobs import Blobs
from store.launches import Launches
from worker.launch.run import PreparedRun

MAX_VALUES = 131_072
"""Elements that a launch answers as `values`, of all its cases together."""
MAX_STDOUT_CHARS = 256 << 10
MAX_FINDINGS = 500
MAX_FINDING_CHARS = 256 << 10
"""Of all texts of all findings of a launch, of all its cases together."""
FINDINGS_OF_ANY_CASE = 3
"""So many are kept of each case whatever the cases before it found, their messages clipped."""
SHORT_MESSAGE_CHARS = 300


class Kept:
    """Of one launch; `has_cases` says whether URLs must name the case."""

    def __init__(self, launch_id: str, blobs: Blobs, *, has_cases: bool) -> None:
        self._launch_id = launch_id
        self._blobs = blobs
        self._has_cases = has_cases
        self._digests: dict[str, str] = {}
        self._values_left = MAX_VALUES
        self._stdout = ""
        self._findings_left = MAX_FINDINGS
        self._finding_chars_left = MAX_FINDING_CHARS

    @property
    def stdout(self) -> str:
        """What all cases printed, up to a bound."""
        return self._stdout

    def printed(self, text: str) -> None:
        """Add what a case printed."""
        if len(self._stdout) < MAX_STDOUT_CHARS:
            self._stdout += clipped(text, MAX_STDOUT_CHARS - len(self._stdout))

    def findings(self, found: Sequence[Finding]) -> list[Finding]:
        """Return what is kept of the findings of one case, and one that says how many are not."""
        kept: list[Finding] = []
        for number, finding in enumerate(found):
            if self._findings_left <= 0 or self._finding_chars_left <= 0:
                if number >= FINDINGS_OF_ANY_CASE:
                    missing = f"{len(found) - number} more findings were not kept."
                    return [*kept, Finding(kind="warning", message=missing)]
                short = clipped(finding.message, SHORT_MESSAGE_CHARS)
                finding = amended(finding, message=short)
            self._findings_left -= 1
            self._finding_chars_left -= len(finding.message)
            kept.append(finding)
        return kept

    def granted(self, returned: Mapping[str, str], run: PreparedRun) -> dict[str, str]:
        """Return what each output of `run` is answered as: no more values than there may be."""
        granted = {}
        for name, output in run.bound.outputs.items():
            granted[name] = returned.get(name, "summary")
            if granted[name] == "values":
                elements = prod(output.shape)
                if elements > self._values_left:
                    granted[name] = "summary"
                else:
                    self._values_left -= elements
        return granted

    async def files(
        self, case: int, outputs: Mapping[str, Output], files: Mapping[str, bytes]
    ) -> dict[str, Output]:
        """Store the files of a case's outputs; return the outputs with their URLs."""
        digests = await self._blobs.put_many(list(files.values()))
        kept = dict(outputs)
        for name, digest in zip(files, digests, strict=True):
            self._digests[f"{case}/{name}"] = digest
            url = f"{launch_url(self._launch_id)}/outputs/{name}"
            if self._has_cases:
                url += f"?case={case}"
            kept[name] = amended(kept[name], url=url)
        return kept

    async def trace(self, case: int, trace: bytes) -> None:
        """Store the trace of a case."""
        self._digests[f"{case}/"] = await self._blobs.put(trace)

    async def note(self, launches: Launches) -> None:
        """Note where all of it is."""
        await launches.keep_outputs(self._launch_id, self._digests)
