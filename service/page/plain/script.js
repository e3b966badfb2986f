"use strict";
// Everything that comes from a kernel is shown as text, never as markup.

const WAIT_S = 30;
const field = (id) => document.getElementById(id);
let shown = null; // the compilation on the page
let stage = null; // the stage whose artifact is shown
let lines = []; // its line map

function headers() {
  const key = field("api-key").value.trim();
  return key ? { Authorization: `Bearer ${key}` } : {};
}

async function ask(path, options = {}) {
  // relative, so that it works under whatever path a proxy serves the page
  const answer = await fetch(path.replace(/^\//, ""), { ...options, headers: { ...headers(), ...options.headers } });
  if (answer.status === 202 && !options.method) return ask(path, options);
  if (!answer.ok) throw await answer.json();
  return answer;
}

function parsed(id) {
  const text = field(id).value.trim();
  if (!text) return undefined;
  if (id === "signature" && !text.startsWith("{")) return text;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw { title: `${id}: not JSON`, detail: error.message };
  }
}

function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function say(text, state) {
  field("state").textContent = text;
  field("state").className = state;
}

async function compile(event) {
  event.preventDefault();
  [shown, stage, lines] = [null, null, []];
  for (const id of ["diagnostics", "resources", "tabs", "artifact"]) field(id).replaceChildren();
  say("Compiling …", "running");
  try {
    const body = { source: field("source").value, target: field("target").value.trim() };
    for (const id of ["signature", "constexprs", "options"]) body[id] = parsed(id);
    const answer = await ask(`/v1/compilations?wait=${WAIT_S}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    let compilation = await answer.json();
    while (["queued", "running"].includes(compilation.state)) {
      say(compilation.queue_position ? `Queued, ${compilation.queue_position} in line` : "Running …", "running");
      compilation = await (await ask(`${compilation.url}?wait=${WAIT_S}`)).json();
    }
    show(compilation, answer.headers.get("Cache-Status"));
  } catch (problem) {
    say(problem.title || "The service cannot be reached", "failed");
    const errors = problem.errors || [{ pointer: "", message: problem.detail || String(problem) }];
    const items = errors.map((error) => element("li", `${error.pointer} ${error.message}`, "error"));
    field("diagnostics").replaceChildren(...items);
  }
}

function show(compilation, cacheStatus) {
  shown = compilation;
  const how = compilation.state === "succeeded" ? "compiled in" : "after";
  const took = compilation.timings_ms ? `, ${how} ${Math.round(compilation.timings_ms.total)} ms` : "";
  const why = compilation.problem ? `: ${compilation.problem.title}` : "";
  const name = compilation.kernel || "kernel";
  say(`${name} for ${compilation.target} ${compilation.state}${why}${took} (${cacheStatus})`, compilation.state);
  field("diagnostics").replaceChildren(...diagnostics(compilation));
  field("resources").replaceChildren(...resources(compilation.resources));
  const stages = Object.keys(compilation.artifacts).filter((name) => name !== "hsaco");
  const tabs = stages.map((name) => tab(name === "cubin" ? "sass" : name));
  field("tabs").replaceChildren(...tabs);
  if (tabs.length) (tabs.find((button) => button.textContent === "ptx") || tabs.at(-1)).click();
  if (stages.length && compilation.state === "succeeded") {
    ask(`${compilation.url}/lines?wait=${WAIT_S}`)
      .then((answer) => answer.json())
      .then((map) => { if (shown === compilation) { lines = map.lines; mark(); } })
      .catch((problem) => { field("state").title = `no line map: ${problem.detail || problem}`; });
  }
}

function diagnostics(compilation) {
  const told = compilation.diagnostics.map((said) => {
    const item = element("li", undefined, said.severity);
    const place = said.line ? ` line ${said.line}` : "";
    item.append(element("b", `${said.severity}${place}: `), said.message);
    if (said.hint) item.append(element("div", said.hint, "hint"));
    if (said.excerpt) item.append(element("pre", said.excerpt));
    return item;
  });
  const problem = compilation.problem;
  return told.length || !problem ? told : [element("li", problem.detail, "error")];
}

function resources(found) {
  if (!found) return [];
  const { occupancy, ...rest } = found;
  const values = { ...rest, occupancy: occupancy && `${Math.round(occupancy.ratio * 100)} % (${occupancy.limited_by})` };
  return Object.entries(values)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => {
      const pair = element("div");
      pair.append(element("dt", name.replaceAll("_", " ")), element("dd", String(value)));
      return pair;
    });
}

function tab(name) {
  const button = element("button", name);
  button.type = "button";
  button.role = "tab";
  button.addEventListener("click", () => open(name));
  return button;
}

async function open(name) {
  stage = name;
  for (const button of field("tabs").children) button.ariaSelected = String(button.textContent === name);
  const asked = shown;
  try {
    const text = await (await ask(`${asked.url}/artifacts/${name}?wait=${WAIT_S}`)).text();
    if (shown !== asked || stage !== name) return;
    field("artifact").replaceChildren(...text.split("\n").map((line) => element("li", line)));
    mark();
  } catch (problem) {
    field("artifact").replaceChildren(element("li", problem.detail || String(problem)));
  }
}

function mark() {
  const before = field("source").value.slice(0, field("source").selectionStart);
  const line = before.split("\n").length;
  const own = lines.filter((entry) => entry.file === "user.py" && entry.line === line);
  const mapped = new Set(own.flatMap((entry) => entry[stage] || []));
  let first = null;
  [...field("artifact").children].forEach((item, index) => {
    const isMapped = mapped.has(index + 1);
    item.classList.toggle("mapped", isMapped);
    if (isMapped && !first) first = item;
  });
  if (first) first.scrollIntoView({ block: "nearest" });
}

field("request").addEventListener("submit", compile);
field("source").addEventListener("click", mark);
field("source").addEventListener("keyup", mark);
field("request").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) field("request").requestSubmit();
});
ask("/v1/targets")
  .then((answer) => answer.json())
  .then((known) => field("targets").replaceChildren(...known.targets.map((target) => {
    const option = element("option");
    option.value = target;
    return option;
  })))
  .catch((problem) => say(problem.detail || "The service cannot be reached", "failed"));
