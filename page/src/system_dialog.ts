// The state of the deployment in words: its versions, queues, workers and sandboxes.

import { ask } from "./api";
import { button, element } from "./dom";
import { toolchainsOffered } from "./inspection";
import { wordsOf } from "./text_pane";
import type { Toolchain } from "./wire";

const [MIB, GIB] = [2 ** 20, 2 ** 30];

/** Return a link to what the service answers, which opens the same in words, and the dialog. */
export function systemDialog(): { link: HTMLElement; element: HTMLElement } {
  const content = element("div", { className: "system scrolls", tabIndex: 0, role: "group", "aria-label": "State of the deployment" });
  const dialog = element("dialog", { "aria-label": "System" }, element("h2", {}, "System"), content, button("Close", () => dialog.close()));
  const link = element("a", { href: "v1/system" }, "System");
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey) return; // a new tab with the answer as it is
    event.preventDefault();
    content.replaceChildren("Loading …");
    dialog.showModal();
    Promise.all([ask("v1/system").then((answer) => answer.json()), toolchainsOffered()])
      .then(([system, toolchains]: [unknown, Toolchain[]]) => content.replaceChildren(shownOf(system, new Map(toolchains.map(({ id, triton }) => [id, `Triton ${triton}`])))))
      .catch((error: unknown) => content.replaceChildren(wordsOf(error)));
  });
  return { link, element: dialog };
}

/** Return a value of JSON: a list of its members, or a text; `names` has words for identifiers. */
function shownOf(value: unknown, names: ReadonlyMap<string, string>, unit = ""): HTMLElement {
  if (unit === "bytes" && typeof value === "number") return element("span", {}, value < MIB ? `${value} B` : value < GIB ? `${(value / MIB).toFixed(1)} MiB` : `${(value / GIB).toFixed(1)} GiB`);
  if (value === null || typeof value !== "object") return element("span", {}, typeof value === "boolean" ? (value ? "yes" : "no") : names.get(String(value)) ?? String(value ?? "none"));
  const members = Object.entries(value);
  if (!members.length) return element("span", {}, "none");
  if (Array.isArray(value) && value.every((each) => typeof each !== "object")) return element("span", {}, value.join(", "));
  const rows = members.map(([name, each]) => {
    const [, words, unit] = /^(.*?)(?:_(bytes))?$/.exec(Array.isArray(value) ? String(Number(name) + 1) : name)!;
    return element("tr", {}, element("th", { scope: "row" }, named(words!, names)), element("td", {}, shownOf(each, names, unit)));
  });
  return element("table", { className: "numbers" }, element("tbody", {}, ...rows));
}

/** Return a name in words: `launch:interpreter:ID` is `launch, interpreter, Triton 3.9.0`. */
function named(name: string, names: ReadonlyMap<string, string>): string {
  return name.split(":").map((part) => names.get(part) ?? part.replaceAll("_", " ")).join(", ");
}
