// Develop the page: builds on every change and passes everything else on to a running server.
//   node dev.mjs http://127.0.0.1:8765 [port]
import { readFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const target = new URL(process.argv[2] ?? "http://127.0.0.1:8765");
const dist = fileURLToPath(new URL("../src/jobmeter/web/dist", import.meta.url));
const TYPES = { css: "text/css", html: "text/html", js: "text/javascript" };

createServer(async (ask, answer) => {
  if (/^\/(api|health|metrics|docs|openapi)/.test(ask.url)) {
    const headers = { ...ask.headers, host: target.host };
    const passed = request(new URL(ask.url, target), { method: ask.method, headers }, (got) => {
      answer.writeHead(got.statusCode, got.headers);
      got.pipe(answer);
    });
    passed.on("error", () => answer.destroy());
    answer.on("close", () => passed.destroy());
    ask.pipe(passed);
    return;
  }
  const name = ask.url.startsWith("/assets/") ? ask.url.slice(8) : "index.html";
  try {
    const body = await readFile(join(dist, name));
    answer.writeHead(200, { "content-type": TYPES[name.split(".").pop()] ?? "text/plain" }).end(body);
  } catch {
    answer.writeHead(404).end();
  }
}).listen(Number(process.argv[3] ?? 8766), "127.0.0.1");
await import("./build.mjs");
