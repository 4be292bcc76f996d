"""The accelerator's package for OpenWrt: what is in it, and what its procd script does."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
INIT = ROOT / "crates/pep/packaging/openwrt/longhaul-pep.init"


def made(folder: Path, *arguments: str) -> Path:
    (folder / "static").mkdir(exist_ok=True)
    (folder / "static/longhaul-pep-mipsel").write_bytes(b"a program")
    command = [str(ROOT / "scripts/make-ipk"), "mipsel", *arguments]
    done = subprocess.run(command, env={**os.environ, "OUT": str(folder)}, capture_output=True, text=True, check=True)
    return Path(done.stdout.split(":")[0])


def unpacked(package: Path) -> tuple[dict[str, tarfile.TarInfo], str]:
    with tarfile.open(package) as outer:
        assert outer.getnames() == ["./debian-binary", "./control.tar.gz", "./data.tar.gz"]
        control, data = (io.BytesIO(outer.extractfile(name).read()) for name in outer.getnames()[1:])  # type: ignore[union-attr]
    with tarfile.open(fileobj=control) as parts:
        text = parts.extractfile("./control").read().decode()  # type: ignore[union-attr]
        assert parts.getmember("./postinst").mode == 0o755
    with tarfile.open(fileobj=data) as parts:
        return {member.name: member for member in parts}, text


def test_a_package_has_program_script_and_rule_and_the_same_bytes_each_time(tmp_path: Path) -> None:
    package = made(tmp_path)
    assert package.name.startswith("longhaul-pep_")
    assert package.name.endswith("_mipsel_24kc.ipk")
    files, control = unpacked(package)
    assert "Architecture: mipsel_24kc\n" in control
    assert "kmod-nft-tproxy" in control
    assert files["./usr/sbin/longhaul-pep"].mode == 0o755
    assert files["./etc/init.d/longhaul-pep"].mode == 0o755
    # The key will be there.
    assert stat.S_IMODE(files["./etc/longhaul"].mode) == 0o700
    assert "./usr/share/nftables.d/chain-pre/input/longhaul-pep.nft" in files
    assert {member.uname or member.uid for member in files.values()} <= {0, "root"}
    first = package.read_bytes()
    assert made(tmp_path).read_bytes() == first
    assert made(tmp_path, "mipsel_74kc").name.endswith("_mipsel_74kc.ipk")


def started(tmp_path: Path, verb: str, program: str) -> str:
    """What a verb of the procd script does, with procd's functions printed and a program in place of the daemon."""
    (tmp_path / "prog").write_text(f'#!/bin/sh\necho "prog $*" >>{tmp_path}/log\n{program}\n')
    (tmp_path / "prog").chmod(0o755)
    text = INIT.read_text()
    text = text.replace("/usr/sbin/longhaul-pep", f"{tmp_path}/prog").replace("/etc/longhaul", str(tmp_path))
    text = text.replace("/tmp/longhaul-pep", f"{tmp_path}/state").replace("/run/longhaul-pep", f"{tmp_path}/run")
    (tmp_path / "init").write_text(text)
    functions = "".join(
        f'{name}() {{ echo "{name} $*" >>{tmp_path}/log; }}\n'
        for name in ("procd_open_instance", "procd_set_param", "procd_close_instance", "procd_send_signal", "logger")
    )
    (tmp_path / "log").write_text("")
    subprocess.run(["sh", "-euc", f"{functions}. {tmp_path}/init\n{verb}"], check=False)
    return (tmp_path / "log").read_text()


def test_the_daemon_starts_with_a_correct_file_only(tmp_path: Path) -> None:
    assert "is missing: not started" in started(tmp_path, "start_service", "exit 0")
    (tmp_path / "pep.toml").write_text("")
    log = started(tmp_path, "start_service", "exit 0")
    assert f"procd_set_param command {tmp_path}/prog run --config {tmp_path}/pep.toml\n" in log
    assert f"procd_set_param env STATE_DIRECTORY={tmp_path}/state\n" in log
    assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o700
    wrong = started(tmp_path, "start_service", "exit 2")
    assert wrong.startswith("prog check")
    assert "procd" not in wrong


def test_reload_sends_a_signal_and_stop_removes_the_rules(tmp_path: Path) -> None:
    (tmp_path / "pep.toml").write_text("")
    assert started(tmp_path, "reload_service", "exit 0").endswith("procd_send_signal longhaul-pep * HUP\n")
    assert "procd" not in started(tmp_path, "reload_service", "exit 2")
    assert started(tmp_path, "service_stopped", "exit 0") == f"prog clean --config {tmp_path}/pep.toml\n"


@pytest.mark.parametrize("script", ["scripts/make-ipk", "scripts/make-static", str(INIT)])
def test_scripts_parse(script: str) -> None:
    subprocess.run(["sh", "-n", ROOT / script], check=True)


@pytest.mark.parametrize("script", ["make-static", "try-static"])
def test_an_unknown_target_is_refused(script: str) -> None:
    done = subprocess.run([ROOT / "scripts" / script, "sparc"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        "error: sparc: no target; there are x86_64, aarch64, armv7 and mipsel\n",
    )
