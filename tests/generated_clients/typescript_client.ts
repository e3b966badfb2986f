// Compiles, launches and lists with the types that openapi-typescript has made: no test itself.
//
//     $ node typescript_client.js URL BODIES

import createClient from "openapi-fetch";
import type { components, paths } from "./tritond.js";

type Event = components["schemas"]["LaunchEvent"];

const [url, text] = process.argv.slice(2);
const bodies = JSON.parse(text) as {
  compilation: components["schemas"]["CompileRequest"];
  launch: components["schemas"]["LaunchRequest"];
};
const client = createClient<paths>({ baseUrl: url });

function isLast(event: Event): boolean {
  // `event` tells the types of `data` apart
  return event.event === "finished" && event.data.ending === "finished";
}

const compiled = await client.POST("/v1/compilations", {
  params: { query: { wait: 60 } },
  body: bodies.compilation,
});
const launched = await client.POST("/v1/launches", {
  params: { query: { wait: 60 }, header: { "Idempotency-Key": "typed" } },
  body: bodies.launch,
});
if (compiled.data === undefined || launched.data === undefined) {
  throw new Error(compiled.error?.detail ?? launched.error?.detail ?? "no answer");
}
const listed = await client.GET("/v1/launches", { params: { query: { limit: 1 } } });
const refused = await client.POST("/v1/compilations", {
  body: { ...bodies.compilation, target: "sm_1" },
});
console.log(
  JSON.stringify({
    state: compiled.data.state,
    entry: compiled.data.abi?.entry,
    verdict: launched.data.verdict,
    location: launched.response.headers.get("location") === launched.data.url,
    listed: listed.data?.items[0].id === launched.data.id,
    refused: refused.error?.slug,
    last: isLast({ id: "1-1", event: "finished", data: { ending: "finished" } }),
  }),
);
