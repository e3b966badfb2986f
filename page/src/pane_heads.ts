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

/** Return the buttons of a group, which are about its open tab. */
export function groupActions(group: DockviewGroupPanel): IHeaderActionsRenderer {
  const maximise = button("⤢", () => (group.api.isMaximized() ? group.api.exitMaximized() : group.api.maximize()), { className: "head" });
  const close = button("×", () => group.activePanel?.api.close(), { className: "head close" });
  const name = (): void => {
    const title = group.activePanel?.title ?? "pane";
    maximise.setAttribute("aria-label", group.api.isMaximized() ? "Show all panes" : `Maximise ${title}`);
    close.setAttribute("aria-label", `Close ${title}`);
  };
  const stops: { dispose(): void }[] = [];
  return {
    element: element("div", { className: "actions" }, maximise, close),
    init: ({ containerApi }) => {
      name();
      stops.push(group.api.onDidActivePanelChange(name), containerApi.onDidMaximizedGroupChange(name), containerApi.onDidLayoutChange(name));
    },
    dispose: () => {
      for (const stop of stops) stop.dispose();
    },
  };
}
