// Links between source lines and the lines of every artifact, in both directions.

import type { LinesEntry } from "./wire";

/** A source line: "user.py:12". */
export type Place = string;
export const USER_FILE = "user.py";
export const HUES = 12;

/** The lines of one text by source line, and vice versa. */
export interface LineTable {
  lines: Map<Place, number[]>;
  places: Map<number, Place[]>;
}

const USER_LOCATION = /"\/kernel\/([^"]+)":(\d+):\d+/g;
const ALIAS = /^#(loc\d*) = loc\((.*)\)$/;
const LAST_LOCATION = /loc\((#loc\d*|"[^"]*":\d+:\d+)\)[^"]*$/;
const NUMPY_ORIGIN = /\s{2,}# (\d+): /;

/** Return the table of `stage` in the service's answer. */
export function tableOf(entries: readonly LinesEntry[], stage: string): LineTable {
  const pairs = entries.flatMap((entry) => {
    const found = entry[stage];
    return Array.isArray(found) ? found.map((line) => [line, `${entry.file}:${entry.line}`] as const) : [];
  });
  return tableOfPairs(pairs);
}

/** Return the table of the editor: each line with output links to itself. */
export function tableOfSource(entries: readonly LinesEntry[]): LineTable {
  const own = entries.filter((entry) => entry.file === USER_FILE);
  return tableOfPairs(own.map((entry) => [entry.line, `${USER_FILE}:${entry.line}`] as const));
}

/** Return the table of a NumPy module, whose lines end with their source line. */
export function tableOfNumpy(text: string): LineTable {
  const pairs: [number, Place][] = [];
  text.split("\n").forEach((line, index) => {
    const origin = NUMPY_ORIGIN.exec(line);
    if (origin) pairs.push([index + 1, `${USER_FILE}:${Number(origin[1])}`]);
  });
  return tableOfPairs(pairs);
}

/** Return the table of an MLIR module, from the locations in it. */
export function tableOfMlir(text: string): LineTable {
  const lines = text.split("\n");
  const aliases = new Map<string, string>();
  for (const line of lines) {
    const alias = ALIAS.exec(line);
    if (alias) aliases.set(`#${alias[1]}`, alias[2]!);
  }
  const known = new Map<string, Place[]>();
  const placesOf = (location: string, depth: number): Place[] => {
    const before = known.get(location);
    if (before || depth > 32) return before ?? [];
    const places = Array.from(location.matchAll(USER_LOCATION), (found) => `${found[1]}:${found[2]}`);
    for (const [name] of location.matchAll(/#loc\d*/g)) {
      places.push(...placesOf(aliases.get(name) ?? "", depth + 1));
    }
    const unique = [...new Set(places)];
    known.set(location, unique);
    return unique;
  };
  const pairs: [number, Place][] = [];
  lines.forEach((line, index) => {
    if (ALIAS.test(line)) return;
    const last = LAST_LOCATION.exec(line);
    for (const place of last ? placesOf(last[1]!, 0) : []) pairs.push([index + 1, place]);
  });
  return tableOfPairs(pairs);
}

/** Return a colour for each source line; neighbours differ. */
export function huesOf(entries: readonly LinesEntry[]): Map<Place, number> {
  return new Map(entries.map((entry, index) => [`${entry.file}:${entry.line}`, index % HUES]));
}

function tableOfPairs(pairs: Iterable<readonly [number, Place]>): LineTable {
  const table: LineTable = { lines: new Map(), places: new Map() };
  for (const [line, place] of pairs) {
    const lines = table.lines.get(place) ?? [];
    const places = table.places.get(line) ?? [];
    lines.push(line);
    places.push(place);
    table.lines.set(place, lines);
    table.places.set(line, places);
  }
  return table;
}

type Listener = (places: ReadonlySet<Place>, origin: object, scrolls: boolean) => void;

/** The selected lines, by the cursor of any view. */
export class Selection {
  private readonly listeners = new Set<Listener>();
  private readonly hoverListeners = new Set<(places: ReadonlySet<Place>) => void>();
  /** The selected lines, for views created later. */
  places: ReadonlySet<Place> = new Set();
  /** The view that selected them. */
  origin: object | null = null;
  /** True if the other views scroll to them. */
  scrolls = true;

  /** Call `listener` with every selection; return a function that stops it. */
  listen(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Call `listener` with the lines under the pointer; return a function that stops it. */
  listenToHover(listener: (places: ReadonlySet<Place>) => void): () => void {
    this.hoverListeners.add(listener);
    return () => this.hoverListeners.delete(listener);
  }

  /** Tell all views which lines the pointer is at. */
  hover(places: Iterable<Place>): void {
    const all = new Set(places);
    for (const listener of this.hoverListeners) listener(all);
  }

  select(places: Iterable<Place>, origin: object, scrolls = true): void {
    [this.places, this.origin, this.scrolls] = [new Set(places), origin, scrolls];
    for (const listener of this.listeners) listener(this.places, origin, scrolls);
  }
}
