// Further files of the source, such as a module that the kernel imports: a tab for each, and one for the source.

import { python } from "@codemirror/lang-python";
import { history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { commonExtensions, typedOverSelection } from "./code_view";
import { button, element, field } from "./dom";
import type { Compilation } from "./wire";

type Files = Record<string, string>;

const POSTED_AS = /^Post its file in `files` as "([^"]+)"/;
const NEW_FILE = "module.py";

/** Return the paths of the files without which a compilation failed, or rests on assumptions about them. */
export function neededFiles({ state, problem, needs, diagnostics }: Compilation): string[] {
  const isMissing = problem?.slug === "missing_module";
  if (!isMissing && state !== "succeeded") return [];
  const advised = isMissing ? diagnostics.flatMap(({ hint }) => POSTED_AS.exec(hint ?? "")?.[1] ?? []) : [];
  return [...new Set([...(needs ?? []).map((module) => `${module.replaceAll(".", "/")}.py`), ...advised])];
}

export class FileTabs {
  readonly element = element("div", { className: "chips", role: "group", "aria-label": "Files" });
  readonly panel = element("div", { className: "file", hidden: true });
  private files: Files = {};
  /** The path of the file that is shown; null for the source. */
  private shown: string | null = null;
  private view: EditorView | null = null;
  /** The editors' states of files that were shown, which know what to undo. */
  private readonly states = new Map<string, EditorState>();
  /** The files that were removed, the last one last. */
  private removed: (readonly [string, string])[] = [];

  /** `source` is the element of the source's editor, which is hidden while a file is shown. */
  constructor(
    private readonly source: HTMLElement,
    private readonly onChange: (files: Files) => void,
    private readonly onRemoved: (files: Files) => void,
  ) {}

  /** Take the files of another state. */
  open(files: Files): void {
    this.files = { ...files };
    this.removed = [];
    this.show(null);
    this.states.clear();
  }

  /** Add a file without text, if there is none of this path, and show it. */
  add(path: string): void {
    if (!(path in this.files)) this.files[path] = "";
    this.show(path);
    this.view?.focus();
  }

  /** Add a file with a text, and show it. */
  put(path: string, text: string): void {
    this.files[path] = text;
    this.onChange({ ...this.files });
    this.show(path);
  }

  private show(path: string | null): void {
    if (this.view && this.shown !== null) this.states.set(this.shown, this.view.state);
    this.shown = path;
    [this.source.hidden, this.panel.hidden] = [path !== null, path === null];
    this.view?.destroy();
    this.view = null;
    if (path === null) this.panel.replaceChildren();
    else this.fill(path);
    this.draw();
  }

  private draw(): void {
    const tab = (name: string, path: string | null): HTMLElement => button(name, () => this.show(path), { className: "chip", "aria-pressed": String(path === this.shown) });
    const add = button("Add file", () => this.add(NEW_FILE), { className: "chip", title: "A module that the kernel imports" });
    const removed = this.removed.findLast(([path]) => !(path in this.files));
    const restore = removed ? button(`Restore ${removed[0]}`, () => this.restore(removed), { className: "chip" }) : null;
    this.element.replaceChildren(...[tab("kernel", null), ...Object.keys(this.files).map((path) => tab(path, path)), restore, add].filter((each) => each !== null));
  }

  private fill(path: string): void {
    const name = element("input", { value: path, spellcheck: false, title: "The path as imported: pkg/config.py for pkg.config" });
    const disk = element("input", { type: "file", accept: ".py", "aria-label": "Open a file from this computer" });
    const code = element("div", { className: "code" });
    name.addEventListener("change", () => this.rename(path, name.value.trim()));
    disk.addEventListener("change", () => void disk.files?.[0]?.text().then((text) => this.view?.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } })));
    const controls = element("div", { className: "controls" }, field("Path", name, "beside"), disk, button("Remove file", () => this.remove(path), { className: "small" }));
    this.panel.replaceChildren(controls, code);
    const changed = EditorView.updateListener.of((update) => {
      if (!update.docChanged) return;
      this.files[path] = update.state.doc.toString();
      this.onChange({ ...this.files });
    });
    const extensions = [commonExtensions(path), typedOverSelection, history(), keymap.of([...historyKeymap, indentWithTab]), python(), changed];
    const doc = this.files[path] ?? "";
    const before = this.states.get(path);
    this.view = new EditorView({ parent: code, state: before?.doc.toString() === doc ? before : EditorState.create({ doc, extensions }) });
  }

  private rename(path: string, now: string): void {
    if (!now || now in this.files) return;
    this.files = Object.fromEntries(Object.entries(this.files).map(([each, text]) => [each === path ? now : each, text]));
    this.onChange({ ...this.files });
    this.show(now);
  }

  private remove(path: string): void {
    this.removed.push([path, this.files[path]!]);
    delete this.files[path];
    this.show(null);
    this.onRemoved({ ...this.files });
  }

  private restore(removed: readonly [string, string]): void {
    this.removed = this.removed.filter((each) => each !== removed);
    this.put(...removed);
  }
}
