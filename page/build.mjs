// Builds the page into the folder that the service serves. File names carry a digest of the
// content, so that browsers may cache everything except index.html forever.
import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { writeLessons } from "./lessons.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const built = join(here, "..", "service", "page", "built");

const result = await build({
  entryPoints: [join(here, "src/main.ts"), join(here, "src/style.css")],
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  target: ["es2022"],
  charset: "utf8",
  minify: true,
  legalComments: "none",
  metafile: true,
  outdir: built,
  write: false,
  logLevel: "warning",
});
const entry = (extension) =>
  Object.entries(result.metafile.outputs)
    .filter(([, output]) => /src\/(?:main\.ts|style\.css)$/.test(output.entryPoint ?? ""))
    .map(([path]) => basename(path))
    .find((name) => name.endsWith(extension));
const main = Object.values(result.metafile.outputs).find(({ entryPoint }) => entryPoint?.endsWith("src/main.ts"));
// what the script imports is asked for with it, not after it
const preloads = main.imports.filter(({ kind }) => kind === "import-statement").map(({ path }) => `<link rel="modulepreload" href="page/${basename(path)}">`);
const template = await readFile(join(here, "src/index.html"), "utf8");
const picture = await readFile(join(here, "src/preview.png"));
const preview = `preview-${createHash("sha256").update(picture).digest("hex").slice(0, 8).toUpperCase()}.png`;
const index = template.replace("{{script}}", entry(".js")).replace("{{style}}", entry(".css")).replace("{{preview}}", preview).replace("{{preloads}}", preloads.join("\n"));

await rm(built, { recursive: true, force: true });
await mkdir(built, { recursive: true });
await writeFile(join(built, preview), picture);
for (const file of result.outputFiles) await writeFile(join(built, basename(file.path)), file.contents);
await writeLessons();
await writeFile(join(built, "index.html"), index); // last, so that its presence means a complete page
