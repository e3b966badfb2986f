// What can be taken away from the page: a permalink, and the request as curl, Python and JSON.

import { address } from "./api";
import { button, element, field, menu } from "./dom";
import { share, type PageState } from "./page_state";
import { asCommand, asCurl, asPython, type RequestBody } from "./request";
import { wordsOf } from "./text_pane";

const FORMS: Record<string, (body: RequestBody, base: string) => string> = {
  curl: asCurl,
  Python: asPython,
  tritonc: asCommand,
  JSON: (body) => JSON.stringify(body, null, 2),
};

/** Return the dialog, and what opens it. */
export function shareDialog(state: () => PageState, body: () => RequestBody): { element: HTMLDialogElement; open: () => void } {
  const link = element("input", { readOnly: true, id: "permalink" });
  const said = element("p", { role: "status", className: "faint" });
  const form = menu(Object.keys(FORMS).map((name) => [name, name] as const), "curl", { "aria-label": "Request as" });
  const code = element("textarea", { readOnly: true, rows: 10, "aria-label": "Request", spellcheck: false });
  const write = (): void => {
    code.value = FORMS[form.value]!(body(), address("").href);
  };
  const copy = async (text: string): Promise<void> => {
    await navigator.clipboard.writeText(text);
    said.textContent = "Copied.";
  };
  form.addEventListener("change", write);
  const dialog = element(
    "dialog",
    { "aria-label": "Share" },
    element("h2", {}, "Share"),
    field("Permalink", link),
    element("div", { className: "row" }, button("Copy the link", () => void copy(link.value).catch(() => link.select()))),
    element("h2", {}, "The request"),
    element("div", { className: "row" }, form, button("Copy", () => void copy(code.value).catch(() => code.select()))),
    code,
    said,
    element("div", { className: "row" }, button("Close", () => dialog.close(), { className: "primary" })),
  );
  const open = (): void => {
    write();
    [link.value, said.textContent] = ["", "Storing …"];
    dialog.showModal();
    share(state())
      .then((url) => {
        [link.value, said.textContent] = [url, "Whoever reaches this service sees the same there."];
        link.select();
      })
      .catch((error: unknown) => {
        said.textContent = wordsOf(error);
      });
  };
  return { element: dialog, open };
}
