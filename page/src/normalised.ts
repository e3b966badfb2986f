// Normalises modules for diffs: removes differences without meaning.

import { BY_NAME } from "./stages";

const LOCATION = / ?loc\((?:#loc\d*|"[^"]*"(?::\d+:\d+|\(#loc\d*\))?|unknown|callsite\([^()]*(?:\([^()]*\)[^()]*)*\))\)/g;
const FUNCTION = /^\s*(?:tt\.func|llvm\.func|define)\b/;
const ARGUMENT = /%[\w$.-]+(?=: )/g;
const DEFINITION = /^\s*(%[\w$.-]+)(?::\d+)? = (?:tail |musttail |notail )?"?([\w.]+)/;
const VALUE = /%[\w$.-]+/g;

/** Return an MLIR or LLVM module without locations, with values named after their operations. */
export function normalised(stage: string, text: string): string {
  switch (BY_NAME.get(stage)?.syntax) {
    case "mlir":
      return renamed(lines(text).filter((line) => !isLocationLine(line)).map((line) => line.replace(LOCATION, "")));
    case "llvm":
      return renamed(
        lines(text)
          .filter((line) => !/^(?:!\d+ = |!llvm\.|; )/.test(line))
          .map((line) => line.replace(/, ![\w.]+ !\d+/g, "").replace(/ #\d+(?= |$)/g, "")),
      );
    default:
      return text;
  }
}

/** Return true for a line of a module that only defines a location. */
export function isLocationLine(line: string): boolean {
  return /^#loc\d* = /.test(line);
}

/** Name each value after its operation and a count, so that a new load renames only loads. */
function renamed(all: readonly string[]): string {
  const counts = new Map<string, number>();
  return all
    .reduce<{ names: Map<string, string>; text: string[] }>(
      (made, line) => {
        if (FUNCTION.test(line)) {
          made.names.clear();
          for (const [index, [name]] of [...line.matchAll(ARGUMENT)].entries()) made.names.set(name, `%arg.${index}`);
        }
        const definition = DEFINITION.exec(line);
        if (definition) {
          const operation = definition[2]!.slice(definition[2]!.lastIndexOf(".") + 1);
          const count = (counts.get(operation) ?? 0) + 1;
          counts.set(operation, count);
          made.names.set(definition[1]!, `%${operation}${count > 1 ? `.${count}` : ""}`);
        }
        made.text.push(line.replace(VALUE, (name) => made.names.get(name) ?? name));
        return made;
      },
      { names: new Map(), text: [] },
    )
    .text.join("\n");
}

function lines(text: string): string[] {
  return text.split("\n");
}
