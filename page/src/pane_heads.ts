// The heads of panes: a tab with a title, and buttons of the group that maximise and close.

import type { DockviewGroupPanel, IHeaderActionsRenderer, ITabRenderer, TabPartInitParameters } from "dockview-core";
import { button, element } from "./dom";

/** Return a tab: its title alone, since what is inside of a tab cannot be reached by keyboard. */
export function tabOf(): ITabRenderer {
  const shown = element("span", { className: "tab-title" });
  return {
    element: shown,
    init: ({ title, api }: TabPartInitParameters) => {
      shown.textContent = title;
      api.onDidTitleChange((changed) => (shown.textContent = changed.title));
    },
  };
}

/** The text that a pane shows, and a name for a file of it. */
export interface PaneText {
  name: string;
  text: string;
}

const COPIED_MS = 1500;

/** Return the buttons of a group, which are about its open tab; `textOf` returns the text of a panel, if it has one. */
export function groupActions(group: DockviewGroupPanel, textOf: (id: string) => Promise<PaneText | null>): IHeaderActionsRenderer {
  const take = (act: (taken: PaneText) => void | Promise<void>): void => {
    const { activePanel } = group;
    if (!activePanel) return;
    textOf(activePanel.id)
      .then((taken) => taken && act(taken))
      .catch((error: unknown) => console.info("not copied", error)); // the pane shows why there is no text
  };
  const copy = button("", () => take(copyNow), { className: "head copy" });
  const copyNow = async (taken: PaneText): Promise<void> => {
    // browsers offer no clipboard to pages without https
    if (!navigator.clipboard) return downloaded(taken);
    await navigator.clipboard.writeText(taken.text);
    copy.textContent = "✓";
    setTimeout(() => (copy.textContent = ""), COPIED_MS);
  };
  const download = button("↓", () => take(downloaded), { className: "head" });
  const maximise = button("⤢", () => (group.api.isMaximized() ? group.api.exitMaximized() : group.api.maximize()), { className: "head" });
  const close = button("×", () => group.activePanel?.api.close(), { className: "head close" });
  const name = (): void => {
    const title = group.activePanel?.title ?? "pane";
    copy.setAttribute("aria-label", `Copy ${title}`);
    download.setAttribute("aria-label", `Download ${title}`);
    maximise.setAttribute("aria-label", group.api.isMaximized() ? "Show all panes" : `Maximise ${title}`);
    close.setAttribute("aria-label", `Close ${title}`);
  };
  const stops: { dispose(): void }[] = [];
  return {
    element: element("div", { className: "actions" }, copy, download, maximise, close),
    init: ({ containerApi }) => {
      name();
      stops.push(group.api.onDidActivePanelChange(name), containerApi.onDidMaximizedGroupChange(name), containerApi.onDidLayoutChange(name));
    },
    dispose: () => {
      for (const stop of stops) stop.dispose();
    },
  };
}

function downloaded({ name, text }: PaneText): void {
  const href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  element("a", { href, download: name }).click();
  URL.revokeObjectURL(href);
}
