"""The accelerator's page in a browser, on a phone's width and on a desk's: no error, nothing that scrolls sideways, keyboard, contrast, bypass."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import threading
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from devtools import BROWSER, Browser

ROOT = Path(__file__).resolve().parent.parent


def _program() -> str | None:
    built = [ROOT / "target" / profile / "longhaul-pep" for profile in ("debug", "quick", "release")]
    return next((str(path) for path in built if path.exists()), shutil.which("longhaul-pep"))


PROGRAM = _program()
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="chromium is not installed (sudo scripts/install-packages --pages)"),
    pytest.mark.skipif(PROGRAM is None, reason="longhaul-pep is not built (cargo build -p longhaul-pep)"),
    pytest.mark.skipif(os.name != "posix", reason="the accelerator is for Linux"),
]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@contextmanager
def _running(*arguments: str | Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [str(PROGRAM), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


def _serve(listener: socket.socket) -> None:
    while True:
        try:
            taken, _ = listener.accept()
        except OSError:
            return
        with taken:
            taken.recv(100)
            taken.sendall(b"x" * 200_000)


@pytest.fixture
def page(tmp_path: Path) -> Iterator[str]:
    """The address of the page of a daemon that has carried ten downloads."""
    page_port, entry = _free_port(), _free_port()
    file = tmp_path / "pep.toml"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_serve, args=(listener,), daemon=True).start()
        to = listener.getsockname()[1]
        file.write_text(
            f'mode = "split"\ncontrol = "{tmp_path}/control.sock"\n[page]\nlisten = "127.0.0.1:{page_port}"\n'
            f'[[forward]]\nlisten = "127.0.0.1:{entry}"\nto = "127.0.0.1:{to}"\n'
        )
        with _running("run", "--config", file):
            end = time.monotonic() + 60
            while True:
                try:
                    with (
                        socket.create_connection(("127.0.0.1", page_port)),
                        socket.create_connection(("127.0.0.1", entry)),
                    ):
                        break
                except OSError:
                    assert time.monotonic() < end, "the page does not come"
                    time.sleep(0.1)
            for _ in range(10):
                with socket.create_connection(("127.0.0.1", entry)) as client:
                    client.sendall(b"please")
                    while client.recv(65536):
                        pass
            printed = subprocess.run(
                [str(PROGRAM), "page", "--config", file], check=True, capture_output=True, text=True
            ).stdout
            yield printed.strip()
            listener.shutdown(socket.SHUT_RDWR)


#: What is wider than the window, by its name.
WIDE = """
[...document.querySelectorAll("body *")].filter((one) => !one.closest(".scroll") && one.getBoundingClientRect().right > innerWidth + 1)
  .map((one) => one.tagName + "#" + one.id + "." + one.className)
"""

#: Pairs of colours of text and of what is behind it, and the size in pixels, of everything that is shown.
COLOURS = """
[...document.querySelectorAll("body *")].filter((one) => one.offsetParent && !one.disabled && [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
  .map((one) => {
    let behind = one;
    while (behind && getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)") behind = behind.parentElement;
    return [getComputedStyle(one).color, getComputedStyle(behind || document.body).backgroundColor, parseFloat(getComputedStyle(one).fontSize), one.textContent.slice(0, 40)];
  })
"""


def _luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.1)."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (int(number) / 255 for number in re.findall(r"\d+", colour)[:3])
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_the_page_fits_and_has_no_error(tmp_path: Path, page: str, width: int, scheme: str) -> None:
    with Browser(tmp_path / "profile") as browser:
        browser.open(page, width, scheme=scheme)
        browser.until("document.querySelectorAll('#findings li').length > 1")
        browser.until(
            "document.querySelectorAll('#plot-rate canvas').length === 1 && document.querySelectorAll('#hosts td').length >= 5"
        )
        assert browser.run("innerWidth") == width
        assert browser.run("document.documentElement.scrollWidth") <= width, browser.run(WIDE)
        assert browser.run(WIDE) == []
        assert browser.run("document.getElementById('hosts').innerText").splitlines()[-1].split()[0] == "127.0.0.1"
        assert "10" in browser.run("document.getElementById('saved').innerText")
        # The address bar and the history do not keep the token.
        assert browser.run("location.href").endswith("/")
        poor = [found for found in browser.run(COLOURS) if _contrast(found[0], found[1]) < 4.5]
        assert poor == []
        assert browser.faults == []
        if folder := os.environ.get("LONGHAUL_PICTURES"):
            browser.picture(Path(folder) / f"page-{width}-{scheme}.png")


def test_the_page_is_used_by_keyboard(tmp_path: Path, page: str) -> None:
    with Browser(tmp_path / "profile") as browser:
        browser.open(page, 400)
        browser.until("document.querySelectorAll('#findings li').length > 1 && window.longhaulPage.figures[0].plot")
        browser.until("window.longhaulPage.figures[0].plot.data[0].length > 3")
        # From the top, Tab leads to the switch, which the space bar turns.
        reached = []
        for _ in range(30):
            browser.press("Tab", 9)
            reached.append(browser.run("document.activeElement.id || document.activeElement.className"))
        assert "bypass" in reached
        assert any("u-over" in name for name in reached), reached
        assert "examine" in reached
        browser.run("document.getElementById('bypass').focus()")
        browser.press("Space", 32, " ")
        browser.until("document.getElementById('bypass').getAttribute('aria-checked') === 'true'")
        browser.until("document.getElementById('bypass-done').textContent === 'new connections pass untouched'")
        browser.until("document.getElementById('state').textContent.includes('pass untouched')")
        assert browser.run("document.activeElement.id") == "bypass"
        # Values of a figure are read by the arrow keys.
        browser.run("window.longhaulPage.figures[0].plot.over.focus()")
        browser.press("ArrowLeft", 37)
        assert re.search(
            r"down [\d.]+ .*bit/s", browser.until("document.querySelector('#plot-rate .readout').textContent")
        )
        browser.run("document.querySelector('[data-span=minutes]').click()")
        assert browser.run("document.querySelector('[data-span=minutes]').getAttribute('aria-pressed')") == "true"
        assert browser.faults == []


def test_findings_follow_the_state_and_have_their_time(tmp_path: Path, page: str) -> None:
    with Browser(tmp_path / "profile") as browser:
        browser.open(page, 1280)
        browser.until("/^at \\d\\d:\\d\\d:\\d\\d$/.test(document.getElementById('examined-at').textContent)")
        findings = "document.getElementById('findings').innerText.includes('{}')"
        assert not browser.run(findings.format("bypass is on"))
        state = [str(PROGRAM), "bypass", "--config", str(tmp_path / "pep.toml")]
        subprocess.run([*state, "on"], check=True, capture_output=True)
        browser.until(findings.format("new connections pass untouched: bypass is on"), 30)
        printed = subprocess.run(state, check=True, capture_output=True, text=True).stdout
        assert printed == "bypass is on: new connections pass untouched\n"
        subprocess.run([*state, "off"], check=True, capture_output=True)
        browser.until("!" + findings.format("bypass is on"), 30)
        assert browser.faults == []


#: A terminal's report with a class, as the page gets it, for a table that is wider than a phone.
CLASSES = {
    "name": "everything else",
    "rate_bps": 12_345_678,
    "bytes_today": 123_456_789,
    "bytes_month": 12_345_678_901,
    "quota_bytes": 20_000_000_000,
    "period": "month",
    "over": True,
    "over_hosts": ["192.168.100.200"],
    "hosts": [
        {"address": "192.168.100.200", "bytes": 24_000_000_000, "over": True},
        {"address": "192.168.100.7", "bytes": 2_500_000_000, "over": False},
    ],
    "over_tcp": False,
}


def test_classes_fit_a_phone(tmp_path: Path, page: str) -> None:
    with Browser(tmp_path / "profile") as browser:
        browser.open(page, 400)
        browser.until("!document.getElementById('open').hidden")
        # The next answer has a class.
        browser.run(
            "(() => { const plain = fetch; window.fetch = async (path, options) => { const answer = await plain(path, options);"
            " if (!path.startsWith('/api/now')) return answer; const now = await answer.json();"
            f" now.status.classes = [{json.dumps(CLASSES)}]; return new Response(JSON.stringify(now)); }}; }})()"
        )
        browser.until("document.querySelectorAll('#classes td').length === 6", 30)
        place = "document.getElementById('classes')"
        assert browser.run(f"{place}.scrollWidth <= {place}.clientWidth"), "nothing is cut off"
        shown = browser.run(f"{place}.innerText")
        assert "20 GB a month for each address" in shown
        assert "192.168.100.200" in shown
        heads = "[...document.querySelectorAll('#classes td')].map((one) => one.dataset.head)"
        assert browser.run(heads) == ["class or terminal", "rate", "today", "this month", "quota", "beyond it"]
        quotas = "document.getElementById('quotas')"
        assert browser.run(f"{quotas}.scrollWidth <= {quotas}.clientWidth"), "nothing is cut off"
        cells = browser.run("[...document.querySelectorAll('#quotas td')].map((one) => one.textContent)")
        name = CLASSES["name"]
        assert cells == [
            *["192.168.100.200", name, "24 GB", "120 % of 20 GB a month", "over"],
            *["192.168.100.7", name, "2.5 GB", "12.5 % of 20 GB a month", ""],
        ]
        browser.size(1280)
        sides = "[...document.querySelectorAll('#classes tr > :nth-child(5)')].map((one) => getComputedStyle(one).textAlign)"
        assert set(browser.run(sides)) == {"left"}, "the head of the quota stands over it"


def test_without_the_token_the_page_asks_for_it(tmp_path: Path, page: str) -> None:
    bare, token = page.split("#")
    with Browser(tmp_path / "profile") as browser:
        browser.open(bare, 400)
        browser.until("!document.getElementById('locked').hidden")
        assert browser.run("document.getElementById('open').hidden")
        assert all("401" in fault for fault in browser.faults), browser.faults
        browser.run(
            f"document.getElementById('token').value = '{token}'; document.querySelector('#locked button').click()"
        )
        browser.until("document.getElementById('locked').hidden && !document.getElementById('open').hidden")


@pytest.mark.parametrize("width", [400, 1280])
def test_the_set_up_shows_the_file_and_writes_it_with_consent(tmp_path: Path, width: int) -> None:
    file = tmp_path / "pep.toml"
    arguments = ("--config", file, "--listen", f"127.0.0.1:{_free_port()}", "--control", tmp_path / "control.sock")
    with _running("setup", *arguments) as process, Browser(tmp_path / "profile") as browser:
        assert process.stdout is not None
        address = process.stdout.readline().split()[1]
        browser.open(address, width)
        browser.until("!document.getElementById('setup').hidden && document.getElementById('setup-file').textContent")
        assert browser.run("document.documentElement.scrollWidth") <= width, browser.run(WIDE)
        browser.until(
            "document.getElementById('state').textContent === 'The accelerator does not run on this machine.'"
        )
        assert browser.run("getComputedStyle(document.getElementById('state')).fontWeight") == "400"
        steps = "[...document.querySelectorAll('.steps > li')].map((one) => [one.value, one.querySelector('h3').textContent])"
        # The guide has the same steps with the same numbers.
        guide = re.findall(r"^\*\*(\d+)\. (.+?)\.?\*\*", (ROOT / "docs" / "setup.md").read_text(), re.MULTILINE)
        assert browser.run(steps) == [[int(number), name] for number, name in guide]
        click = "document.getElementById('{}').click()"
        browser.run(click.format("make-key"))
        key = browser.until(
            "/^[0-9a-f]{64}$/.test(document.getElementById('setup-key').textContent) && document.getElementById('setup-key').textContent"
        )
        assert (tmp_path / "pep.key").stat().st_mode & 0o777 == 0o600
        fill = "form = document.getElementById('setup-form'); form.elements.{}.value = '{}'; form.dispatchEvent(new Event('change'))"
        for name, value in [
            ("mode", "hub"),
            ("terminal_key", key[::-1]),
            ("down", "50 Mbit/s"),
            ("sources", "192.168.1.0/24"),
        ]:
            browser.run(fill.format(name, value))
        assert browser.run("document.getElementById('write').disabled")
        browser.run(fill.format("down", "quick"))
        browser.run(click.format("draft"))
        browser.until("document.getElementById('done-file').textContent.includes('the rate down')")
        assert not file.exists()
        browser.run(fill.format("down", "50 Mbit/s"))
        browser.run(click.format("draft"))
        shown = browser.until("document.getElementById('file').textContent")
        assert not file.exists(), "what is shown is not written yet"
        browser.run(click.format("write"))
        browser.until("document.getElementById('done-file').textContent.includes('is written')")
        assert file.read_text() == shown
        written = tomllib.loads(shown)
        assert (written["mode"], written["hop"]["send_rate"]) == ("hub", "49.5 Mbit/s")
        # A file that is there stays unless it may be replaced.
        browser.run(fill.format("terminal", "ship-2"))
        browser.run(click.format("draft"))
        browser.until("document.getElementById('file').textContent.includes('ship-2')")
        # The browser notes each answer that is refused: here the rate that is none.
        assert all("422" in fault for fault in browser.faults), browser.faults
        browser.run(click.format("write"))
        browser.until("document.getElementById('done-file').textContent.includes('exists; it is replaced only if')")
        assert file.read_text() == shown
        browser.run("document.getElementById('setup-form').elements.overwrite.checked = true")
        browser.run(click.format("write"))
        browser.until("document.getElementById('done-file').textContent.includes('the one before is')")
        assert "ship-2" in file.read_text()
        assert (tmp_path / "pep.before").read_text() == shown
        # Opened again, the page has the answers of the file.
        browser.open(address, width)
        browser.until("document.getElementById('terminal') && document.getElementById('terminal').value === 'ship-2'")
        values = "['terminal_key', 'down', 'sources'].map((name) => document.getElementById('setup-form').elements[name].value)"
        assert browser.run(values) == [key[::-1], "50 Mbit/s", "192.168.1.0/24"]
        assert browser.run("document.getElementById('setup-form').elements.mode.value") == "hub"
        assert browser.run("document.getElementById('more').hidden")
        # The hub's firewall has to let the terminals in.
        browser.run("document.getElementById('firewall').value = 'ufw'")
        browser.run(click.format("show-recipe"))
        browser.until("document.getElementById('recipe').textContent.includes('ufw allow 7714/udp')")
        if folder := os.environ.get("LONGHAUL_PICTURES"):
            browser.picture(Path(folder) / f"setup-{width}.png")
