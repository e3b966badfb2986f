// Writes the lessons of the page into service/lessons.json, which GET /v1/lessons answers.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));

export async function writeLessons(path = join(here, "..", "service", "lessons.json")) {
  const bundled = await build({ entryPoints: [join(here, "src/lessons_export.ts")], bundle: true, format: "esm", write: false });
  const code = Buffer.from(bundled.outputFiles[0].contents).toString("base64");
  const { exported } = await import(`data:text/javascript;base64,${code}`);
  await writeFile(path, `${JSON.stringify(exported(), null, 1)}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeLessons(process.argv[2]);
