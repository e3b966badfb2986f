// The findings of a run, as notes at their source lines.

import { USER_FILE } from "./line_links";
import type { LineHeat, LineNote } from "./line_notes";
import { isOfSource, toneOf, unwrittenIn, verdictOf, type Finding, type Mismatch, type Run } from "./launched";
import type { Traced } from "./trace";
import { written } from "./value_text";
import { inPageWords } from "./wire";

/** Return the notes of a run; `kernel` is the line of the kernel's definition, and the grid of a lesson is fixed. */
export function notesOf(run: Run, kernel: number, trace: Traced | null, isGridFixed = false): LineNote[] {
  const verdict = { line: kernel, text: verdictOf(run), tone: toneOf(run.verdict) };
  const found = (run.findings ?? []).flatMap((finding) => notesOfFinding(finding, kernel));
  // after an aborted run, missing outputs mean nothing
  const outputs = run.verdict === "mismatch" ? (run.outputs ?? {}) : {};
  const different = Object.entries(outputs).flatMap(([name, { comparison }]) => {
    if (!comparison?.first_mismatch) return [];
    const unwritten = unwrittenIn(name, comparison, isGridFixed);
    const missing = unwritten ? [{ line: kernel, text: unwritten, tone: "bad" as const }] : [];
    // of unwritten elements, nothing but that is of use
    if (comparison.mismatched === comparison.unwritten || (unwritten && comparison.first_mismatch.actual === "NaN")) return missing;
    const { line, words } = wherefrom(name, comparison.first_mismatch, trace);
    return [...missing, { line: line ?? kernel, text: `${words} (${comparison.mismatched} differ)`, tone: "bad" as const }];
  });
  return [verdict, ...found, ...different];
}

/** Return the heat of each source line, if the run was profiled by line. */
export function heatOf({ profile }: Run): LineHeat[] {
  return (profile?.lines ?? []).flatMap(({ file, line, samples_percent, top_stall }) =>
    file === USER_FILE && line && samples_percent > 0 ? [{ line, percent: samples_percent, stall: top_stall }] : [],
  );
}

function notesOfFinding(finding: Finding, kernel: number): LineNote[] {
  const what = finding.kind.replaceAll("_", " ");
  const place = finding.line && !isOfSource(finding) ? `line ${finding.line} of the reference: ` : "";
  const own = { line: lineOf(finding) ?? kernel, text: `${what}: ${place}${finding.message}`, tone: "bad" as const };
  const said = (finding.diagnostics ?? []).flatMap((each) => {
    const line = lineOf(each);
    return line ? [{ line, text: inPageWords([each.message, each.hint].filter(Boolean).join("\n")), tone: "bad" as const }] : [];
  });
  return said.length ? said.map((note) => ({ ...note, text: `${what}: ${note.text}` })) : [own];
}

function lineOf(place: { file: string | null; line: number | null }): number | null {
  return isOfSource(place) ? place.line : null;
}

/** Describe the first difference, and the last line that wrote it if its program was traced. */
function wherefrom(name: string, { index, actual, expected }: Mismatch, trace: Traced | null): { line: number | null; words: string } {
  const at = String(index);
  const writes = trace?.accesses.filter(({ argument, op, indices }) => argument === name && op !== "load" && indices.some((each) => String(each) === at));
  const last = writes?.at(-1);
  const by = last ? `program (${last.program.join(", ")}) writes ` : "";
  return { line: last?.line ?? null, words: `${by}${name}[${index.join(", ")}] = ${written(actual)}, expected ${written(expected)}` };
}
