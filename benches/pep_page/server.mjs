// The origin of a page: HTML, two style sheets, three scripts and 75 pictures, over HTTP/1.1 (port 8443) or HTTP/2 (8444), both
// with TLS. Arguments: files of the key and the certificate. The page is the same at each load and is never cached.

import fs from "node:fs";
import http2 from "node:http2";
import https from "node:https";

const PICTURES = 75;

// Sizes spread as on ordinary pages: from 2 to 80 kB, 1.3 MB in all.
const sizeOf = (number) => Math.round(2000 * 40 ** (((number * 29) % PICTURES) / PICTURES));

// A picture of uncompressed rows (BMP), so that its size is what is asked for.
function picture(number) {
  const width = 64;
  const height = Math.max(1, Math.round((sizeOf(number) - 54) / (width * 3)));
  const bytes = Buffer.alloc(54 + width * 3 * height);
  bytes.write("BM");
  bytes.writeUInt32LE(bytes.length, 2);
  bytes.writeUInt32LE(54, 10);
  bytes.writeUInt32LE(40, 14);
  bytes.writeInt32LE(width, 18);
  bytes.writeInt32LE(height, 22);
  bytes.writeUInt16LE(1, 26);
  bytes.writeUInt16LE(24, 28);
  for (let at = 54; at < bytes.length; at += 3) {
    bytes[at] = (number * 53 + at / 192) & 255;
    bytes[at + 1] = (number * 97) & 255;
    bytes[at + 2] = (number * 31 + 90) & 255;
  }
  return bytes;
}

const styles = (number) => `body{font:16px sans-serif;margin:8px}img{width:88px;height:66px;margin:3px;object-fit:cover}/*${"x".repeat(12000 * number)}*/`;
const script = (number) => `window.parts=(window.parts||0)+1;//${"x".repeat(20000 * number)}`;

const page = `<!doctype html><title>A page</title>
<link rel=stylesheet href=/style1.css><link rel=stylesheet href=/style2.css>
<h1>A page of 80 objects</h1>
${Array.from({ length: PICTURES }, (_, number) => `<img src="/picture${number}.bmp" alt="">`).join("")}
${[1, 2, 3].map((number) => `<script src=/script${number}.js defer></script>`).join("")}`;

const stored = new Map([["/", ["text/html", Buffer.from(page)]], ["/ready", ["text/plain", Buffer.from("ready")]]]);
for (const number of [1, 2]) stored.set(`/style${number}.css`, ["text/css", Buffer.from(styles(number))]);
for (const number of [1, 2, 3]) stored.set(`/script${number}.js`, ["text/javascript", Buffer.from(script(number))]);
for (let number = 0; number < PICTURES; number++) stored.set(`/picture${number}.bmp`, ["image/bmp", picture(number)]);

function answer(request, response) {
  const [kind, bytes] = stored.get(request.url) ?? ["text/plain", null];
  if (bytes === null) {
    response.writeHead(404);
    return response.end();
  }
  response.writeHead(200, { "content-type": kind, "content-length": bytes.length, "cache-control": "no-store" });
  response.end(bytes);
}

const [key, cert] = process.argv.slice(2, 4).map((file) => fs.readFileSync(file));
https.createServer({ key, cert, ALPNProtocols: ["http/1.1"] }, answer).listen(8443);
http2.createSecureServer({ key, cert, allowHTTP1: false }, answer).listen(8444);
