// Opens files of GitHub and gists, where the operator allows it: the browser fetches them, the service never does.

import { button, element, field } from "./dom";

const RAW = "https://raw.githubusercontent.com";
const GISTS = "https://gist.githubusercontent.com";
const FILE = /^\/([^/]+\/[^/]+)\/(?:blob|raw)\/(.+)$/;
const GIST = /^\/([^/]+\/[0-9a-f]+)(?:\/([0-9a-f]{40}))?\/?$/;
const LINES = /^#L(\d+)(?:C\d+)?(?:-L(\d+))?/;
const BEFORE_PATHS = 5;
/** The places in which a module is looked for. */
const MOST_PLACES = 6;
const MOST_BYTES = 1 << 20;
const NO_LINK = "Expected a link to a file on GitHub, such as https://github.com/owner/name/blob/main/kernel.py#L10, or to a gist.";

/** A file of a repository or gist, with the lines that its link names. */
export interface GithubFile {
  /** Where its text is. */
  raw: string;
  first: number | null;
  last: number | null;
}

/** Return true if the operator lets the page open files of GitHub. */
export function opensGithub(): boolean {
  return document.documentElement.dataset.github === "open";
}

/** Return the file that a link of GitHub or of a gist names. Raises Error for any other text. */
export function githubFile(link: string): GithubFile {
  const url = URL.canParse(link.trim()) ? new URL(link.trim()) : null;
  const raw = url?.protocol === "https:" ? rawOf(url) : null;
  if (!url || !raw) throw new Error(NO_LINK);
  const [, first = null, last = first] = LINES.exec(url.hash) ?? [];
  return { raw, first: first && Number(first), last: last && Number(last) } as GithubFile;
}

function rawOf({ host, origin, pathname }: URL): string | null {
  if (origin === RAW || origin === GISTS) return origin + pathname;
  const [, repository, file] = (host === "github.com" && FILE.exec(pathname)) || [];
  if (repository) return `${RAW}/${repository}/${file}`;
  const [, gist, revision] = (host === "gist.github.com" && GIST.exec(pathname)) || [];
  return gist ? `${GISTS}/${gist}/raw${revision ? `/${revision}` : ""}` : null;
}

/** Return where a module of the same repository may be: paths as they are imported, with the places of their texts; none for a gist. */
export function modulesNextTo({ raw }: GithubFile, path: string): [string, string][] {
  if (!raw.startsWith(RAW)) return [];
  const folders = raw.split("/").slice(0, -1);
  // after scheme, host, owner, name and reference; a relative import has no package, and counts from a folder around
  const top = folders.findIndex((part, index) => index > BEFORE_PATHS && part === path.split("/")[0]);
  const bases = top > 0 ? [folders.slice(0, top)] : folders.slice(BEFORE_PATHS + 1).map((_, up) => folders.slice(0, folders.length - up));
  const paths = [path, path.replace(/\.py$/, "/__init__.py")];
  return bases.flatMap((base) => paths.map((each): [string, string] => [each, `${base.join("/")}/${each}`])).slice(0, MOST_PLACES);
}

/** Return the text of a raw file. Raises Error where there is none, or too much. */
export async function textAt(raw: string): Promise<string> {
  let answer: Response;
  try {
    answer = await fetch(raw, { credentials: "omit", referrerPolicy: "no-referrer" });
  } catch {
    throw new Error(`${raw} cannot be reached from this browser.`);
  }
  if (!answer.ok || !answer.body) throw new Error(`${raw} answers ${answer.status}: is the link right, and the repository public?`);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += value;
    if (text.length > MOST_BYTES) {
      await reader.cancel();
      throw new Error(`${raw} has more than ${MOST_BYTES} characters.`);
    }
  }
}

/** Return a button that asks for a link, and its dialog; `open` gets the file and its text. */
export function githubDialog(open: (file: GithubFile, text: string) => void): { start: HTMLElement; element: HTMLElement } {
  const link = element("input", { type: "url", size: 60, spellcheck: false, placeholder: "https://github.com/owner/name/blob/main/kernel.py#L10" });
  const said = element("p", { className: "bad", role: "status" });
  const go = async (): Promise<void> => {
    said.textContent = "";
    try {
      const file = githubFile(link.value);
      const text = await textAt(file.raw);
      dialog.close();
      open(file, text);
    } catch (error) {
      said.textContent = (error as Error).message;
    }
  };
  const form = element("form", {}, field("Link to a file on GitHub, or to a gist", link), said, element("p", { className: "faint" }, "Your browser fetches the file from GitHub. tritond does not."));
  form.append(element("div", { className: "controls" }, element("button", { type: "submit", className: "primary" }, "Open file"), button("Cancel", () => dialog.close())));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void go();
  });
  const dialog = element("dialog", { "aria-label": "Open a file from GitHub" }, element("h2", {}, "Open a file from GitHub"), form);
  const start = button("Open", () => dialog.showModal(), { title: "A file on GitHub, or a gist" });
  return { start, element: dialog };
}
