"""A browser without a window, driven by the DevTools protocol: for pages whose own policy allows no script of a test in them."""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)


class Browser:
    """One tab. `faults` has what a browser reports as wrong: errors of the console, of scripts and of the page's policy."""

    def __init__(self, folder: Path) -> None:
        self.faults: list[str] = []
        self._next = 0
        command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}"]
        self._process = subprocess.Popen(
            [*command, "--remote-debugging-port=0", "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        port_file = folder / "DevToolsActivePort"
        end = time.monotonic() + 60
        while not (port_file.exists() and "\n" in port_file.read_text()):
            assert time.monotonic() < end, "the browser does not start"
            time.sleep(0.05)
        port = int(port_file.read_text().split()[0])
        while True:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=30) as answer:
                tabs = [tab for tab in json.load(answer) if tab["type"] == "page"]
            if tabs:
                break
            assert time.monotonic() < end, "the browser has no tab"
            time.sleep(0.05)
        path = tabs[0]["webSocketDebuggerUrl"].split("/", 3)[3]
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        nonce = base64.b64encode(os.urandom(16)).decode()
        head = f"GET /{path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        self._socket.sendall(f"{head}Sec-WebSocket-Key: {nonce}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        answered = b""
        while b"\r\n\r\n" not in answered:
            answered += self._socket.recv(1)
        assert b" 101 " in answered, answered
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _what: BaseException | None, _at: TracebackType | None
    ) -> None:
        self._socket.close()
        self._process.kill()
        self._process.wait()

    def _exactly(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            more = self._socket.recv(count - len(found))
            assert more, "the browser has ended"
            found += more
        return found

    def _message(self) -> dict[str, Any]:
        text = b""
        while True:
            first, second = self._exactly(2)
            length = second & 127
            if length == 126:
                (length,) = struct.unpack("!H", self._exactly(2))
            elif length == 127:
                (length,) = struct.unpack("!Q", self._exactly(8))
            part = self._exactly(length)
            if first & 15 in (0, 1):
                text += part
                if first & 128:
                    message: dict[str, Any] = json.loads(text)
                    return message

    def call(self, method: str, **values: Any) -> dict[str, Any]:
        """A command, and its result; events that come meanwhile are looked through for faults."""
        self._next += 1
        text = json.dumps({"id": self._next, "method": method, "params": values}).encode()
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(text))
        length = (
            struct.pack("!BB", 129, 128 | len(text)) if len(text) < 126 else struct.pack("!BBH", 129, 254, len(text))
        )
        self._socket.sendall(length + mask + masked)
        while True:
            message = self._message()
            if message.get("id") == self._next:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result
            self._note(message)

    def _note(self, message: dict[str, Any]) -> None:
        kind, values = message.get("method"), message.get("params", {})
        if kind == "Runtime.exceptionThrown":
            self.faults.append(str(values["exceptionDetails"]))
        elif kind == "Log.entryAdded" and values["entry"]["level"] in ("error", "warning"):
            self.faults.append(f"{values['entry']['text']} {values['entry'].get('url', '')}")
        elif kind == "Runtime.consoleAPICalled" and values["type"] in ("error", "warning", "assert"):
            self.faults.append(str(values["args"]))

    def open(self, address: str, width: int, height: int = 900, scheme: str = "light") -> None:
        """Opens a page in a window of this size."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=address)

    def size(self, width: int, height: int = 900) -> None:
        """Gives the window of an open page another size, in CSS pixels."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def run(self, script: str) -> Any:
        """The value of an expression in the page; a promise is waited for."""
        done = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def until(self, script: str, seconds: float = 30) -> Any:
        """Waits until an expression is true; in a page that is still loading it may fail."""
        end = time.monotonic() + seconds
        while True:
            done = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
            if value := done["result"].get("value"):
                return value
            assert time.monotonic() < end, f"waited in vain for {script}: {done}, {self.run('document.body.innerText')}"
            time.sleep(0.1)

    def press(self, name: str, code: int, text: str = "") -> None:
        """A key, as a user presses it."""
        for kind in ("keyDown", "keyUp"):
            typed = {"text": text} if text and kind == "keyDown" else {}
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=text or name, code=name, windowsVirtualKeyCode=code, **typed
            )

    def picture(self, file: Path) -> None:
        """The whole page as a picture."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(shot["data"]))
