// The browser's storage for the page. In frames and with cookies off, browsers may refuse it.

type Kind = "localStorage" | "sessionStorage";

/** Values that the browser refused to store; they last until the page is left. */
const unkept = new Map<string, string>();

/** Return the value stored under `name`, null if there is none. */
export function kept(kind: Kind, name: string): string | null {
  const refused = unkept.get(name);
  if (refused !== undefined) return refused;
  try {
    return window[kind].getItem(name);
  } catch {
    return null;
  }
}

/** Store `text` under `name`, or delete the stored value. */
export function keep(kind: Kind, name: string, text: string | null): void {
  unkept.delete(name);
  try {
    if (text === null) window[kind].removeItem(name);
    else window[kind].setItem(name, text);
  } catch {
    if (text !== null) unkept.set(name, text);
  }
}
