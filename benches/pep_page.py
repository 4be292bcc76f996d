"""A page of 80 objects, loaded by chromium over an emulated satellite link without and with the accelerator.

Usage: .venv/bin/python benches/pep_page.py [--program target/release/longhaul-pep] [--loss 0,1] [--repeat 3] [--film FILE.png]

Needs root, chromium, node (20 or newer), openssl, iproute2 and nftables. HTTP/1.1 and HTTP/2, both over TLS. Prints a table;
--film draws what the window shows in the meantime (HTTP/2, the first loss, one load each).
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

HERE = Path(__file__).resolve().parent
TOOLS = HERE / "pep_page"
PROTOCOLS = {"HTTP/1.1": 8443, "HTTP/2": 8444}
#: Width of a frame of the film in pixels, and frames in a row.
FRAME, FRAMES = 190, 8


def certificate(folder: Path) -> tuple[Path, Path]:
    key, file = folder / "key.pem", folder / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=page"]
    subprocess.run([*command, "-keyout", key, "-out", file], check=True, capture_output=True)
    return key, file


def measure(options: argparse.Namespace, folder: Path, port: int, film: str, repeat: int) -> list[dict[str, Any]]:
    """Seconds of each load, without and with the accelerator; `film` is a folder, or "-"."""
    key, file = certificate(folder)
    client = f"node --experimental-websocket {TOOLS / 'client.mjs'} https://$LONGHAUL_SERVER:{port}/ {film}"
    command = [options.program, "demo", "--json", "--loss", options.loss if film == "-" else options.loss.split(",")[0]]
    command += ["--repeat", str(repeat), "--patience", "100 s", "--run", client]
    command += ["--serve", f"exec node {TOOLS / 'server.mjs'} {key} {file}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"error: {' '.join(map(str, command))} failed")
    answer = json.loads(done.stdout)
    for doubt in answer["doubts"]:
        print(f"warning: the emulator was late, {doubt}", file=sys.stderr)
    samples: list[dict[str, Any]] = answer["samples"]
    return samples


def draw_film(folder: Path, out: Path) -> None:
    """Two rows of frames at the same times: without, and with."""
    rows = {}
    for way in ("without", "with"):
        frames = sorted((folder / way).glob("*.png"))
        rows[way] = [(float(frame.stem), Image.open(frame)) for frame in frames]
    last = max(time for row in rows.values() for time, _ in row)
    height = round(FRAME * 0.7)
    canvas = Image.new("RGB", (FRAMES * (FRAME + 8) + 8, 2 * (height + 50)), "white")
    pen = ImageDraw.Draw(canvas)
    for number, (way, row) in enumerate(rows.items()):
        top = number * (height + 50)
        pen.text((8, top + 4), f"{way} the accelerator", fill="black")
        for place in range(FRAMES):
            wanted = last * (place + 1) / FRAMES
            shown = [image for time, image in row if time <= wanted]
            left = 8 + place * (FRAME + 8)
            if shown:
                canvas.paste(shown[-1].convert("RGB").resize((FRAME, height)), (left, top + 20))
            pen.rectangle((left, top + 20, left + FRAME, top + 20 + height), outline="gray")
            pen.text((left, top + 24 + height), f"{wanted:.1f} s", fill="black")
    canvas.save(out, optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(HERE.parent / "target/release/longhaul-pep"))
    parser.add_argument("--loss", default="0,1")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--film", type=Path)
    options = parser.parse_args()
    missing = [name for name in ("chromium", "node", "openssl", "ip", "nft") if shutil.which(name) is None]
    if missing:
        sys.exit(f"error: not installed: {', '.join(missing)}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.film:
            for way in ("without", "with"):
                (folder / way).mkdir()
            measure(options, folder, PROTOCOLS["HTTP/2"], f"{folder}/$LONGHAUL_WAY", 1)
            draw_film(folder, options.film)
        print("| loss | protocol | without | with |\n|---|---|---|---|")
        for protocol, port in PROTOCOLS.items():
            samples = measure(options, folder, port, "-", options.repeat)
            for loss in sorted({sample["loss"] for sample in samples}):
                cells = []
                for accelerated in (False, True):
                    found = [s for s in samples if s["loss"] == loss and s["accelerated"] is accelerated]
                    times = [time for sample in found for time in sample["seconds"]]
                    complete = [time for time in times if time is not None]
                    text = f"{statistics.median(complete):.2f}" if complete else "-"
                    cells.append(text if len(complete) == len(times) else f"{text} ({len(complete)} of {len(times)})")
                print(f"| {100 * loss:g} % | {protocol} | {cells[0]} | {cells[1]} |", flush=True)


if __name__ == "__main__":
    main()
