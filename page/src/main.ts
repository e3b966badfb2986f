// Starts the page that the URL names.

import { EMBEDDED, EmbeddedPage } from "./embedded";
import { ExplorerPage } from "./explorer_page";
import { inspectionOf, toolchainsOffered } from "./inspection";
import { stateAsked } from "./page_state";

async function start(): Promise<void> {
  if (EMBEDDED) return new EmbeddedPage(EMBEDDED).start();
  // lessons and their texts are loaded where they are read
  if (location.pathname.endsWith("/learn")) return new (await import("./learn_page")).LearnPage().start();
  // the service answers while the page is made, which says why there is no answer, once it awaits it
  const toolchains = toolchainsOffered();
  toolchains.catch(() => undefined);
  const [state, notLed] = await stateAsked();
  const inspection = inspectionOf(state.request);
  inspection?.catch(() => undefined);
  return new ExplorerPage(state).begin(toolchains, inspection, notLed);
}

void start();
