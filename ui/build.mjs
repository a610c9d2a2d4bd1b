// Bundles the page into ../src/jobmeter/web/dist: one HTML, one script, one style sheet, and the licences of what is
// inside; and the frame of a saved report, a single file to be filled with a run. `--watch` builds again on every change.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const target = join(here, "../src/jobmeter/web/dist");
const GZIP_LIMIT_BYTES = 120_000;

const options = {
  absWorkingDir: here,
  bundle: true,
  entryPoints: ["src/main.tsx", "src/report.tsx"],
  format: "esm",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  loader: { ".svg": "dataurl" },
  metafile: true,
  minify: true,
  outdir: target,
  target: ["es2022"],
  write: false,
};

function named(path, bytes) {
  const ending = path.slice(path.lastIndexOf("."));
  return `${path.endsWith(".svg") ? "icon" : "app"}-${createHash("sha256").update(bytes).digest("hex").slice(0, 10)}${ending}`;
}

function licences(metafile) {
  const packages = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (found) packages.add(found[1]);
  }
  return [...packages]
    .sort()
    .map((name) => {
      const folder = join(here, "node_modules", name);
      const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
      if (!file) throw new Error(`${name} has no licence file`);
      return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
    })
    .join(`\n${"-".repeat(78)}\n\n`);
}

function hash(text) {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

/** Everything a report needs stands in it, so its policy lets nothing else in; what is left to fill is the run. */
function report(files, licences) {
  const text = (ending) => files.find((one) => one.path.endsWith(`report.${ending}`)).text.trim();
  const [script, style] = [text("js"), text("css")];
  if (/<\/script|<!--/i.test(script + licences) || /<\/style/i.test(style)) throw new Error("the report would end before its end");
  const policy = `default-src 'none'; base-uri 'none'; form-action 'none'; script-src ${hash(script)}; style-src ${hash(style)}`;
  const parts = { licences, policy, script, style };
  return readFileSync(join(here, "report.html"), "utf8").replace(/@@(licences|policy|script|style)@@/g, (_, name) => parts[name]);
}

function write(result) {
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const names = {};
  let zipped = 0;
  for (const file of result.outputFiles.filter((one) => /main\.\w+$/.test(one.path))) {
    const name = named(file.path, file.contents);
    names[file.path.slice(file.path.lastIndexOf(".") + 1)] = name;
    writeFileSync(join(target, name), file.contents);
    zipped += gzipSync(file.contents).length;
  }
  const icon = readFileSync(join(here, "icon.svg"));
  writeFileSync(join(target, named("icon.svg", icon)), icon);
  const page = readFileSync(join(here, "index.html"), "utf8")
    .replace("icon.svg", `/assets/${named("icon.svg", icon)}`)
    .replace("app.css", `/assets/${names.css}`)
    .replace("app.js", `/assets/${names.js}`);
  writeFileSync(join(target, "index.html"), page);
  const allowed = licences(result.metafile);
  writeFileSync(join(target, "THIRD_PARTY_LICENSES.txt"), allowed);
  writeFileSync(join(target, "report.html"), report(result.outputFiles, allowed));
  zipped += gzipSync(page).length;
  console.log(`ui: ${zipped} bytes gzipped`);
  if (zipped > GZIP_LIMIT_BYTES) throw new Error(`the page is ${zipped} bytes gzipped, more than ${GZIP_LIMIT_BYTES}`);
}

if (process.argv.includes("--watch")) {
  const plugin = { name: "write", setup: (build) => void build.onEnd((result) => result.errors.length || write(result)) };
  await (await esbuild.context({ ...options, plugins: [plugin] })).watch();
} else {
  write(await esbuild.build(options));
}
