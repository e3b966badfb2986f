// The lesson beside the editor: task, specification, hints, and the progress in this browser.

import { keep, kept } from "./browser_storage";
import { button, element, field, menu } from "./dom";
import { LESSONS, type Lesson } from "./lessons";
import { leaveLink, type LaunchText, type PageState, type RequestText } from "./page_state";
import { exampleOf } from "./puzzles";

const ENTRY = "tritond-lessons";

/** True if the URL is that of the lessons. */
export const IS_LEARNING = location.pathname.endsWith("/learn");

interface Progress {
  solved: string[];
  /** Written solutions by lesson. */
  sources: Record<string, string>;
  last: string;
}

export class LessonPanel {
  readonly element = element("section", { className: "lesson", "aria-label": "The lesson" });
  private readonly progress = progressKept();
  private readonly count = element("p", { className: "faint", role: "status" });
  /** The last run: failed, passed, or passed with other sizes than the lesson's. */
  private outcome: "" | "failed" | "passed" | "other" = "";
  /** True while somebody else's solution is shown. */
  private isVisiting = false;
  private lesson = LESSONS.find(({ title }) => title === this.progress.last) ?? LESSONS[0]!;

  constructor(private readonly open: (request: RequestText, launch: LaunchText) => void) {}

  /** Open the chosen lesson with its written solution. */
  start(): void {
    [this.isVisiting, this.outcome] = [false, ""];
    const { request, launch } = exampleOf(this.lesson);
    this.progress.last = this.lesson.title;
    this.draw();
    this.open({ ...request, source: this.progress.sources[this.lesson.title] ?? request.source }, launch);
  }

  /** Show a shared state: beside its lesson, if it is of one, and apart from the reader's own work. */
  visit({ request, launch }: PageState): void {
    this.isVisiting = true;
    this.lesson = LESSONS.find(({ kernel, reference }) => launch?.reference === reference && request.source.includes(`def ${kernel}(`)) ?? this.lesson;
    this.draw();
  }

  /** Store the written solution. */
  wrote(source: string): void {
    if (this.isVisiting) return;
    this.progress.sources[this.lesson.title] = source;
    this.keep();
  }

  /** Note a run's result; a lesson is solved by its own sizes and reference alone. */
  ran(verdict: string | null, launch: LaunchText): void {
    const { launch: own } = exampleOf(this.lesson);
    const isOwn = JSON.stringify([own.grid, own.arguments, own.reference]) === JSON.stringify([launch.grid, launch.arguments, launch.reference]);
    this.outcome = verdict !== "passed" ? "failed" : isOwn ? "passed" : "other";
    this.draw();
    if (this.isVisiting || this.outcome !== "passed") return;
    if (!this.progress.solved.includes(this.lesson.title)) this.progress.solved.push(this.lesson.title);
    this.keep();
    this.draw();
  }

  private draw(): void {
    const { lesson } = this;
    const { solved } = this.progress;
    const lessons = menu(LESSONS.map(({ title }) => [title, solved.includes(title) ? `✓ ${title}` : title] as const), lesson.title);
    lessons.addEventListener("change", () => this.choose(lessons.value));
    const next = LESSONS[LESSONS.indexOf(lesson) + 1];
    // a failed run never stands beside "Solved"
    const isSolved = !this.isVisiting && solved.includes(lesson.title) && this.outcome !== "failed" && this.outcome !== "other";
    const other = this.outcome === "other" ? "It passed, but not with the sizes and reference of the lesson: “Start over” brings them back. " : "";
    this.count.textContent = `${isSolved ? "Solved. " : other}${solved.length} of ${LESSONS.length} solved in this browser.`;
    const hints = lesson.hints.map((hint, index) => element("details", {}, element("summary", {}, `Hint ${index + 1}`), element("p", {}, hint)));
    const controls = element("div", { className: "controls" }, field("Lesson", lessons, "beside"), next ? button("Next", () => this.choose(next.title)) : null, button("Start over", () => this.startOver()));
    const visit = element("p", { className: "notice" }, "This is a shared solution. Yours is as you left it. ", button("Back to mine", () => this.leave(), { className: "small" }));
    this.element.replaceChildren(controls, ...(this.isVisiting ? [visit] : []), element("p", {}, lesson.task), specification(lesson), ...hints, this.count);
  }

  /** Go from a shared solution to the reader's own. */
  private leave(): void {
    leaveLink();
    this.start();
  }

  private choose(title: string): void {
    leaveLink();
    this.lesson = LESSONS.find((each) => each.title === title) ?? this.lesson;
    this.start();
    this.keep();
    this.element.querySelector("select")?.focus();
  }

  private startOver(): void {
    if (this.isVisiting) return this.leave();
    delete this.progress.sources[this.lesson.title];
    this.keep();
    this.start();
  }

  private keep(): void {
    keep("localStorage", ENTRY, JSON.stringify(this.progress));
  }
}

function specification({ reference, stub }: Lesson): HTMLElement {
  const right = element("pre", { tabIndex: 0 }, reference.trim());
  const shown = element("details", { open: true }, element("summary", {}, "Specification"), right);
  if (stub) shown.append(element("p", {}, `The original notebook of this puzzle specifies something else: ${stub.fault}.`), element("pre", { tabIndex: 0 }, stub.text));
  return shown;
}

function progressKept(): Progress {
  const none: Progress = { solved: [], sources: {}, last: "" };
  try {
    const found = { ...none, ...(JSON.parse(kept("localStorage", ENTRY) ?? "{}") as Partial<Progress>) };
    return Array.isArray(found.solved) && typeof found.sources === "object" && found.sources ? found : none;
  } catch {
    return none;
  }
}
