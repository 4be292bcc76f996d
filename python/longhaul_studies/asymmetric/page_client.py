"""Loads a page over the path and says how long it took. Arguments: curl or browser, the page's address, the proxy's, or "direct".

Prints the number of objects that were loaded, and seconds from the first request to the last byte.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
import urllib.parse

#: Connections that browsers have to a server at once (the thesis's section 7.2 finds 4 good; browsers have 6).
_PARALLEL = 6
#: Until the servers listen.
_TRIES = 60


def _curl(arguments: list[str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["curl", "--silent", "--fail", "--noproxy", "", *arguments], capture_output=True, check=False)


def _by_curl(page: str, proxy: list[str]) -> tuple[int, float]:
    begun = time.monotonic()
    html = _curl([*proxy, page]).stdout.decode()
    names = re.findall(r'src="([^"]+)"', html)
    with tempfile.TemporaryDirectory() as folder:
        wanted = [
            part
            for number, name in enumerate(names)
            for part in ("-o", f"{folder}/{number}", urllib.parse.urljoin(page, name))
        ]
        done = _curl(
            [
                *proxy,
                "--parallel",
                "--parallel-immediate",
                "--parallel-max",
                str(_PARALLEL),
                "-w",
                "%{http_code}\n",
                *wanted,
            ]
        )
    return done.stdout.decode().split().count("200"), time.monotonic() - begun


def _by_browser(page: str, proxy: str) -> tuple[int, float]:
    with tempfile.TemporaryDirectory() as profile:
        call = [
            "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-extensions", f"--user-data-dir={profile}",
            "--timeout=110000", "--dump-dom",
        ]  # fmt: skip
        call += (
            [f"--proxy-server={proxy}", "--proxy-bypass-list=<-loopback>"]
            if proxy != "direct"
            else ["--no-proxy-server"]
        )
        done = subprocess.run([*call, page], capture_output=True, text=True, check=False, timeout=115)
    found = re.search(r'data-loaded="(\d+) ([\d.]+)"', done.stdout)
    if found is None:
        sys.exit(f"the browser has not loaded the page: {done.stderr[-300:]}")
    return int(found[1]), float(found[2])


def main() -> None:
    """Waits until the page can be had, and loads it."""
    client, page, proxy = sys.argv[1:4]
    by_proxy = [] if proxy == "direct" else ["--proxy", proxy]
    for _ in range(_TRIES):
        # A name that the page does not use: nothing that counts is fetched before.
        if _curl([*by_proxy, "-o", "/dev/null", urllib.parse.urljoin(page, "/ready.bmp")]).returncode == 0:
            break
        time.sleep(1)
    objects, seconds = _by_curl(page, by_proxy) if client == "curl" else _by_browser(page, proxy)
    print(objects, f"{seconds:.3f}")


if __name__ == "__main__":
    main()
