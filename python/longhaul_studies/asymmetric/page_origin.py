"""The origin of a page: an HTTP server with a page and its objects, which may be kept by nobody. Arguments: port, objects, their size."""

from __future__ import annotations

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

#: The browser writes into the page when all is loaded, in milliseconds since it was asked for.
_SCRIPT = (
    "<script>window.addEventListener('load', () => { const images = [...document.images].filter(image => image.naturalWidth > 0).length;"
    "document.body.dataset.loaded = images + ' ' + performance.now() / 1000; });</script>"
)
#: Of a bitmap of one pixel: what follows its end is not looked at.
_PIXEL = bytes.fromhex(
    "424d3a000000000000003600000028000000010000000100000001001800000000000400000000000000000000000000000000000000ffffff00"
)


def main() -> None:
    """Serves until it is ended."""
    port, objects, size = (int(text) for text in sys.argv[1:4])
    images = "".join(f'<img src="/object-{number}.bmp">' for number in range(objects))
    page = f"<!doctype html><html><head><title>page</title>{_SCRIPT}</head><body>{images}</body></html>".encode()
    filler = bytes(number * 7 % 251 for number in range(size))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            html = self.path.endswith(".html")
            body = page if html else (_PIXEL + filler)[:size]
            self.send_response(200)
            self.send_header("Content-Type", "text/html" if html else "image/bmp")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    ThreadingHTTPServer(("", port), Handler).serve_forever()


if __name__ == "__main__":
    main()
