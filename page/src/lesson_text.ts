// The text of a lesson: what it teaches, its picture, the task, hints, and the solution after the last hint.

import { button, element } from "./dom";
import { launchOf, solutionOf, sizesOf, type Lesson } from "./lesson";
import { drawn } from "./lesson_drawing";

/** Return the text; `use` takes over the solution. */
export function lessonText(lesson: Lesson, number: number, use: (source: string) => void): HTMLElement[] {
  const more = [
    ...(lesson.isRaceFree ? ["No two programs may race."] : []),
    ...(lesson.contract ? ["All accesses must be proved for all sizes that keep this contract:"] : []),
  ];
  return [
    element("h2", {}, element("span", { className: "number" }, String(number)), lesson.title),
    ...lesson.text.slice(0, 1).map(paragraph),
    element("figure", {}, drawn(lesson.drawing)),
    ...lesson.text.slice(1).map(paragraph),
    element("h3", {}, "Your task"),
    element("p", { className: "goal" }, lesson.goal),
    element("pre", { tabIndex: 0, "aria-label": "The specification, in NumPy" }, lesson.reference.trim()),
    element("p", { className: "faint" }, `Judged with ${sizesOf(lesson, {})}, and with three other sizes. Grid: ${launchOf(lesson).grid}. `, more.join(" ")),
    ...(lesson.contract ? [element("pre", { tabIndex: 0, "aria-label": "The contract" }, lesson.contract.trim())] : []),
    element("h3", {}, "Hints"),
    hints(lesson, use),
  ];
}

/** Each hint, and at last the solution, is offered when the one before was read. */
function hints(lesson: Lesson, use: (source: string) => void): HTMLElement {
  const shown = element("div", { className: "hints" });
  const source = solutionOf(lesson);
  const solution = (): HTMLElement[] => [element("pre", { tabIndex: 0, "aria-label": "The solution" }, source.slice(source.indexOf("@")).trim()), button("Put it into the editor", () => use(source))];
  const steps = [...lesson.hints.map((hint, index) => ({ title: `Hint ${index + 1}`, content: () => [paragraph(hint)] })), { title: "Solution", content: solution }];
  const offer = (index: number): void => {
    const step = steps[index];
    if (!step) return;
    const details = element("details", {}, element("summary", {}, step.title), ...step.content());
    details.addEventListener("toggle", () => offer(index + 1), { once: true });
    shown.append(details);
  };
  offer(0);
  return shown;
}

/** A paragraph, in which backticks mark code. */
function paragraph(text: string): HTMLElement {
  const parts = text.split("`").map((part, index) => (index % 2 ? element("code", {}, part) : part));
  return element("p", {}, ...parts);
}
