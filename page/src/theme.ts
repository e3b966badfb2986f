// Light or dark colours: the system's, or the user's choice.

import { keep, kept } from "./browser_storage";
import { menu } from "./dom";

const CHOICE = "tritond-theme";
const CHOICES = [["auto", "Theme: system"], ["light", "Theme: light"], ["dark", "Theme: dark"]] as const;

/** Return the menu; the choice is stored in this browser. */
export function themeMenu(): HTMLSelectElement {
  const chosen = menu(CHOICES, kept("localStorage", CHOICE) ?? "auto", { "aria-label": "Colours" });
  const apply = (): void => {
    const { value } = chosen;
    keep("localStorage", CHOICE, value === "auto" ? null : value);
    document.documentElement.dataset.theme = value;
  };
  chosen.addEventListener("change", apply);
  document.documentElement.dataset.theme = chosen.value;
  return chosen;
}
