// Texts of two compilations made comparable: without what differs though nothing does.

const LOCATION = / ?loc\((?:#loc\d*|"[^"]*"(?::\d+:\d+|\(#loc\d*\))?|unknown)\)/g;
const DEFINITION = /^\s*(%[\w$.-]+)(?::\d+)? = (?:tail |musttail |notail )?"?([\w.]+)/;
const VALUE = /%[\w$.-]+/g;

/** Return the text of a stage without places, and with values named after what makes them. */
export function normalised(stage: string, text: string): string {
  switch (stage) {
    case "source":
    case "ttir":
    case "ttgir":
      return renamed(lines(text).filter((line) => !/^#loc\d* = /.test(line)).map((line) => line.replace(LOCATION, "")));
    case "llir":
      return renamed(
        lines(text)
          .filter((line) => !/^(?:!\d+ = |!llvm\.|; )/.test(line))
          .map((line) => line.replace(/, ![\w.]+ !\d+/g, "").replace(/ #\d+(?= |$)/g, "")),
      );
    case "ptx":
      return lines(text)
        .filter((line) => !/^\s*(?:\.loc\b|\/\/|\$L__tmp\d+:|\.file\b)/.test(line))
        .map((line) => line.replace(/\s*\/\/.*$/, "").replace(/%(r|rd|rs|f|fd|p|rh|rq)\d+\b/g, "%$1"))
        .join("\n");
    case "amdgcn":
      return lines(text)
        .filter((line) => !/^\s*(?:\.loc\b|;|\.Ltmp\d+:|\.file\b)/.test(line))
        .map((line) => line.replace(/\s*;.*$/, "").replace(/\b([sva])(?:\d+|\[\d+:\d+\])/g, "$1"))
        .join("\n");
    case "sass":
      return lines(text)
        .filter((line) => !/^\s*\/\//.test(line))
        .map((line) => line.replace(/\/\*[0-9a-f]+\*\//g, "").replace(/\b(U?[RP])\d+\b/g, "$1").trim())
        .filter(Boolean)
        .join("\n");
    default:
      return text;
  }
}

/** Name each value after the operation that makes it, counted: a further load renames loads alone. */
function renamed(all: readonly string[]): string {
  const counts = new Map<string, number>();
  return all
    .reduce<{ names: Map<string, string>; text: string[] }>(
      (made, line) => {
        if (/^\s*(?:tt\.func|define)\b/.test(line)) made.names.clear();
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
