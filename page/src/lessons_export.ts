// The lessons as GET /v1/lessons answers them: texts, hints, and the requests that judge a kernel.

import { proofBody, sizesOf, solutionOf, startOf, sweepBody, trialBody, type Lesson, type Trial } from "./lesson";
import { CHAPTERS } from "./lessons";
import type { RequestBody } from "./request";

/** Return all lessons. The bodies of requests lack the source, which the learner writes. */
export function exported(): unknown {
  const lessons = CHAPTERS.flatMap(([chapter, members]) => members.map((lesson) => ({ chapter, ...exportedLesson(lesson) })));
  return { lessons };
}

function exportedLesson(lesson: Lesson): Record<string, unknown> {
  return {
    name: lesson.kernel,
    title: lesson.title,
    text: lesson.text,
    goal: lesson.goal,
    start: startOf(lesson),
    hints: lesson.hints,
    solution: solutionOf(lesson),
    launches: [{}, ...lesson.hidden].map((trial, index) => exportedLaunch(lesson, trial, index > 0)),
    proof: lesson.contract ? withoutSource(proofBody(lesson, "")) : null,
    sweep: lesson.configurations ? exportedSweep(lesson) : null,
    configurations: lesson.configurations ?? null,
  };
}

function exportedLaunch(lesson: Lesson, trial: Trial, isHidden: boolean): Record<string, unknown> {
  const body = trialBody(lesson, "", trial) as { compilation: RequestBody };
  return { sizes: sizesOf(lesson, trial), is_hidden: isHidden, body: { ...body, compilation: withoutSource(body.compilation) } };
}

function exportedSweep(lesson: Lesson): RequestBody {
  const { base, space } = sweepBody(lesson, "") as { base: { compilation: RequestBody }; space: unknown };
  return { base: { ...base, compilation: withoutSource(base.compilation) }, space };
}

function withoutSource({ source: _, ...others }: RequestBody): RequestBody {
  return others;
}
