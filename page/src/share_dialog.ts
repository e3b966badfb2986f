// The share dialog: a permalink, a read-only link, a frame, and the request.

import { address } from "./api";
import { button, element, field, menu } from "./dom";
import { KERNEL } from "./embedded";
import { share, type PageState } from "./page_state";
import { isToRead, TITLES } from "./pane_kinds";
import { asCommand, asCurl, asPython, type RequestBody } from "./request";
import { wordsOf } from "./text_pane";

const FORMS: Record<string, (body: RequestBody, base: string) => string> = {
  curl: asCurl,
  Python: asPython,
  tritonc: asCommand,
  JSON: (body) => JSON.stringify(body, null, 2),
};

/** The frame of a state: its URL, and the HTML that embeds it. */
class Frame {
  private readonly address = element("input", { readOnly: true });
  private readonly html = element("textarea", { readOnly: true, rows: 4, spellcheck: false, "aria-label": "HTML of the frame" });
  private readonly panes = element("fieldset", {}, element("legend", {}, "Panes in the frame"));
  readonly element = element(
    "details",
    { className: "frame" },
    element("summary", {}, "Read-only view and frame"),
    field("Read-only", this.address),
    this.panes,
    this.html,
    element("p", { className: "faint" }, "Works on this site, and on sites that the operator lists in TRITOND_EMBED_ORIGINS."),
  );
  private digest = "";

  constructor() {
    this.panes.addEventListener("change", () => this.write());
  }

  /** Offer the panes of a state. */
  offer({ panes }: PageState): void {
    const kinds = [KERNEL, ...new Set(panes.filter(isToRead))];
    const boxes = kinds.map((kind) => field(TITLES.get(kind) ?? "Kernel", element("input", { type: "checkbox", value: kind, checked: true }), "inline"));
    this.panes.replaceChildren(this.panes.firstElementChild!, ...boxes);
    [this.digest, this.address.value, this.html.value] = ["", "", ""];
  }

  /** Show the links for `digest`, under which the state is stored. */
  stored(digest: string): void {
    this.digest = digest;
    this.write();
  }

  private write(): void {
    if (!this.digest) return;
    const chosen = [...this.panes.querySelectorAll("input")].filter(({ checked }) => checked).map(({ value }) => value);
    const { href } = address(`e/${this.digest}`);
    const source = `${href}?panes=${chosen.join(",")}`;
    this.address.value = source;
    this.html.value = `<iframe src="${source}" title="A kernel in tritond" width="100%" height="420" loading="lazy" style="border: 0"></iframe>\n`;
  }
}

/** Return the dialog and a function that opens it. */
export function shareDialog(state: () => PageState, body: () => RequestBody): { element: HTMLDialogElement; open: () => void } {
  const link = element("input", { readOnly: true, id: "permalink" });
  const short = element("input", { readOnly: true, id: "short-link" });
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
  const copies = Object.entries({ "Copy the short link": short, "Copy the permalink": link }).map(([words, shown]) => button(words, () => void copy(shown.value).catch(() => shown.select())));
  const setLinks = (long: string, brief: string): void => {
    [link.value, short.value] = [long, brief];
    for (const each of copies) each.disabled = !long;
  };
  const frame = new Frame();
  form.addEventListener("change", write);
  const dialog = element(
    "dialog",
    { "aria-label": "Share" },
    element("h2", {}, "Share"),
    field("Short link", short),
    field("Permalink", link),
    element("div", { className: "row" }, ...copies),
    frame.element,
    element("h2", {}, "The request"),
    element("div", { className: "row" }, form, button("Copy", () => void copy(code.value).catch(() => code.select()))),
    code,
    said,
    element("div", { className: "row" }, button("Close", () => dialog.close(), { className: "primary" })),
  );
  const open = (): void => {
    const shown = state();
    write();
    frame.offer(shown);
    setLinks("", "");
    said.textContent = "Storing …";
    dialog.showModal();
    share(shown)
      .then((stored) => {
        setLinks(stored.url, stored.short);
        said.textContent = "Anyone with access to this service can open these links. Edits never change what a link shows.";
        frame.stored(stored.digest);
        short.select();
      })
      .catch((error: unknown) => {
        said.textContent = `No links: ${wordsOf(error)} Close this, and share again.`;
      });
  };
  return { element: dialog, open };
}
