// What a browser keeps for the page, where it keeps anything: in frames and with cookies off it refuses.

type Kind = "localStorage" | "sessionStorage";

/** What it refused to keep; that is there until the page is left. */
const unkept = new Map<string, string>();

/** Return what is kept under `name`; null where there is nothing. */
export function kept(kind: Kind, name: string): string | null {
  const refused = unkept.get(name);
  if (refused !== undefined) return refused;
  try {
    return window[kind].getItem(name);
  } catch {
    return null;
  }
}

/** Keep `text` under `name`, or forget what is there. */
export function keep(kind: Kind, name: string, text: string | null): void {
  unkept.delete(name);
  try {
    if (text === null) window[kind].removeItem(name);
    else window[kind].setItem(name, text);
  } catch {
    if (text !== null) unkept.set(name, text);
  }
}
