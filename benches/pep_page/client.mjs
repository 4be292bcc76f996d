// Loads the page with chromium and prints the seconds from the start of the navigation to the load event as its last word.
// Arguments: address, folder for pictures of the window (one each half second), or "-". Needs node 20 with
// --experimental-websocket, or a newer one.

import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const [address, folder] = process.argv.slice(2);
const OBJECTS = 80;
const STEP_MS = 500;

const profile = fs.mkdtempSync(path.join(os.tmpdir(), "longhaul-page-"));
const browser = spawn("chromium", [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-proxy-server",
  "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
  "--disable-extensions", "--ignore-certificate-errors", "--disable-quic", "--window-size=1000,700",
  `--user-data-dir=${profile}`, "--remote-debugging-port=0", "about:blank",
], { stdio: ["ignore", "ignore", "pipe"] });

const endpoint = await new Promise((found, failed) => {
  let text = "";
  browser.stderr.on("data", (part) => {
    text += part;
    const line = /DevTools listening on (ws:\S+)/.exec(text);
    if (line) found(line[1]);
  });
  browser.on("exit", () => failed(new Error(text)));
});

const socket = new WebSocket(endpoint);
await new Promise((opened) => socket.addEventListener("open", opened));
const waiting = new Map();
const heard = new Map();
let next = 1;
socket.addEventListener("message", (event) => {
  const message = JSON.parse(event.data);
  if (message.id) waiting.get(message.id)?.(message.result ?? {});
  else heard.get(message.method)?.(message.params);
});
let session;
function ask(method, params = {}) {
  const id = next++;
  socket.send(JSON.stringify({ id, method, params, sessionId: session }));
  return new Promise((answered) => waiting.set(id, answered));
}

const { targetInfos } = await ask("Target.getTargets");
const target = targetInfos.find((one) => one.type === "page").targetId;
session = (await ask("Target.attachToTarget", { targetId: target, flatten: true })).sessionId;
await ask("Page.enable");
const loaded = new Promise((done) => heard.set("Page.loadEventFired", done));
const begin = Date.now();
let filming = folder !== "-";
const film = (async () => {
  for (let frame = 0; filming; frame++) {
    const { data } = await ask("Page.captureScreenshot", { format: "png" });
    const at = ((Date.now() - begin) / 1000).toFixed(1);
    if (data) fs.writeFileSync(path.join(folder, `${at.padStart(5, "0")}.png`), Buffer.from(data, "base64"));
    await new Promise((over) => setTimeout(over, STEP_MS - ((Date.now() - begin) % STEP_MS)));
  }
})();
await ask("Page.navigate", { url: address });
await loaded;
const timing = `JSON.stringify([performance.getEntriesByType("resource").filter(e => e.responseStatus == 200).length,
  performance.getEntriesByType("navigation")[0].nextHopProtocol, performance.getEntriesByType("navigation")[0].loadEventStart])`;
const { result } = await ask("Runtime.evaluate", { expression: timing });
const [objects, protocol, milliseconds] = JSON.parse(result.value);
await new Promise((over) => setTimeout(over, folder === "-" ? 0 : 2 * STEP_MS));
filming = false;
await film;
const gone = new Promise((over) => browser.on("exit", over));
session = undefined;
ask("Browser.close");
await gone;
socket.close();
// Its processes may still write there.
for (let tries = 20; fs.existsSync(profile) && tries > 0; tries--) {
  try {
    fs.rmSync(profile, { recursive: true, force: true });
  } catch {
    await new Promise((over) => setTimeout(over, 200));
  }
}
if (objects !== OBJECTS) {
  console.error(`${objects} of ${OBJECTS} objects were loaded`);
  process.exit(1);
}
console.log(`${protocol} ${objects} objects ${(milliseconds / 1000).toFixed(3)}`);
