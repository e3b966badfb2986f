// Creates elements from text; no text is ever interpreted as markup.

type Child = Node | string | null | undefined;

/** Return an element with these properties, attributes (names with a dash, and role) and children. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Record<string, unknown> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name.includes("-") || name === "role" || name === "for" || name === "list") {
      made.setAttribute(name, String(value));
    } else Object.assign(made, { [name]: value });
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** Return a button that calls `act`. */
export function button(text: string, act: () => void, properties: Record<string, unknown> = {}): HTMLButtonElement {
  const made = element("button", { type: "button", ...properties }, text);
  made.addEventListener("click", act);
  return made;
}

/** Return a menu of `[value, text]` pairs. */
export function menu(
  choices: Iterable<readonly [string, string]>,
  value: string,
  properties: Record<string, unknown> = {},
): HTMLSelectElement {
  const made = element("select", properties);
  for (const [each, text] of choices) made.append(element("option", { value: each }, text));
  made.value = value;
  return made;
}

let named = 0;

/** Return a field below its label, "beside" it, or "inline" before it, as for checkboxes. */
export function field(label: string, control: HTMLElement, className = "field"): HTMLDivElement {
  control.id ||= `field-${(named += 1)}`;
  const text = element("label", { htmlFor: control.id }, label);
  return element("div", { className }, ...(className === "inline" ? [control, text] : [text, control]));
}

/** Return once the browser has shown what is drawn, or after `most_ms`. */
export function idle(most_ms = 200): Promise<void> {
  // Safari lacks the callback
  return new Promise((resolve) => ("requestIdleCallback" in window ? requestIdleCallback(() => resolve(), { timeout: most_ms }) : setTimeout(resolve)));
}

/** Return a debounced `act`, which runs once, `delay_ms` after its last call. */
export function settled<T extends unknown[]>(act: (...given: T) => void, delay_ms: number): (...given: T) => void {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = window.setTimeout(() => act(...given), delay_ms);
  };
}
