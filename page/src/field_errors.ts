// What the service says about a field, at that field: one sentence, and a button with the right spelling.

import { button, element } from "./dom";
import { inPageWords, type Diagnostic, type FieldError } from "./wire";

const MEANT = /Did you mean `([^`]+)`\?/;
const PARAMETER = /parameter `(\w+)`/;
let named = 0;

/** Show errors at fields below `root`, which bear their pointers; return those without a field. */
export function showErrors(root: ParentNode, errors: readonly FieldError[]): FieldError[] {
  clearErrors(root);
  return errors.filter(({ pointer, message }) => {
    const control = controlOf(root, pointer);
    if (control) showAt(control, message);
    return !control;
  });
}

/** Remove all errors below `root`. */
export function clearErrors(root: ParentNode): void {
  for (const control of root.querySelectorAll<HTMLElement>("[aria-invalid]")) clear(control);
}

/** Return what a failed compilation says about fields: a parameter without a type or value. */
export function errorsIn(diagnostics: readonly Diagnostic[]): FieldError[] {
  return diagnostics.flatMap(({ stage, message }) => {
    const name = stage === "request" ? PARAMETER.exec(message)?.[1] : undefined;
    return name ? [{ pointer: message.startsWith("constexpr") ? `/constexprs/${name}` : `/signature/${name}`, message: `Give ${name} a ${message.startsWith("constexpr") ? "value" : "type"}.` }] : [];
  });
}

/** Return the control that bears the pointer, or the longest part of it. */
function controlOf(root: ParentNode, pointer: string): HTMLInputElement | HTMLSelectElement | null {
  for (let at = pointer; at; at = at.slice(0, at.lastIndexOf("/"))) {
    const own = root.querySelector<HTMLInputElement>(`[data-pointer=${CSS.escape(at)}]`);
    if (own) return own;
    const within = at.split("/").length > 2 && root.querySelector<HTMLInputElement>(`[data-pointer^="${CSS.escape(`${at}/`)}"]`);
    if (within) return within;
  }
  return null;
}

function showAt(control: HTMLInputElement | HTMLSelectElement, message: string): void {
  clear(control);
  // lists of all that is allowed are too long for a form
  const said = inPageWords(message).replace(/\. .*$/s, ".");
  const meant = MEANT.exec(message)?.[1];
  const shown = element("p", { className: "field-error", id: `field-error-${(named += 1)}`, title: message }, said);
  if (meant && control instanceof HTMLInputElement) {
    const text = spelled(control.value, meant);
    const write = (): void => {
      control.value = text;
      control.dispatchEvent(new Event("input", { bubbles: true }));
      control.focus();
    };
    shown.append(" ", button(`Write ${text}`, write, { className: "small" }));
  }
  control.setAttribute("aria-invalid", "true");
  control.setAttribute("aria-describedby", shown.id);
  control.after(shown);
  control.addEventListener("input", () => clear(control), { once: true });
  openAround(control);
}

/** Replace the name in a type; its hints stay. */
function spelled(written: string, meant: string): string {
  return `${meant}${/:.*$/.exec(written)?.[0] ?? ""}`;
}

function clear(control: HTMLElement): void {
  const shown = document.getElementById(control.getAttribute("aria-describedby") ?? "");
  if (shown?.className === "field-error") shown.remove();
  control.removeAttribute("aria-invalid");
  control.removeAttribute("aria-describedby");
}

function openAround(control: HTMLElement): void {
  for (let at = control.closest("details"); at; at = at.parentElement?.closest("details") ?? null) at.open = true;
}
