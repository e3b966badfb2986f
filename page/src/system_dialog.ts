// The state of the deployment in words: its versions, queues, workers and sandboxes.

import { ask } from "./api";
import { button, element } from "./dom";
import { wordsOf } from "./text_pane";

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
    ask("v1/system")
      .then((answer) => answer.json())
      .then((system: unknown) => content.replaceChildren(shownOf(system)))
      .catch((error: unknown) => content.replaceChildren(wordsOf(error)));
  });
  return { link, element: dialog };
}

/** Return a value of JSON: a list of its members, or a text. */
function shownOf(value: unknown): HTMLElement {
  if (value === null || typeof value !== "object") return element("span", {}, typeof value === "boolean" ? (value ? "yes" : "no") : String(value ?? "none"));
  const members = Object.entries(value);
  if (!members.length) return element("span", {}, "none");
  if (Array.isArray(value) && value.every((each) => typeof each !== "object")) return element("span", {}, value.join(", "));
  const rows = members.map(([name, each]) => element("tr", {}, element("th", { scope: "row" }, Array.isArray(value) ? String(Number(name) + 1) : name.replaceAll("_", " ")), element("td", {}, shownOf(each))));
  return element("table", { className: "numbers" }, element("tbody", {}, ...rows));
}
