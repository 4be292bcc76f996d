"""Squid at the hub, without a cache; it ends, and what it has written goes away, with this program. Argument: its port."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path


def main() -> None:
    """Runs squid until a signal comes."""
    port = sys.argv[1]
    squid = shutil.which("squid") or "/usr/sbin/squid"
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with tempfile.TemporaryDirectory(prefix="longhaul-squid-", ignore_cleanup_errors=True) as folder:
        directory = Path(folder)
        # Squid gives up root's rights.
        directory.chmod(0o777)
        file = directory / "squid.conf"
        file.write_text(
            f"http_port {port}\nhttp_access allow all\ncache deny all\npid_filename none\nvisible_hostname hub\n"
            f"cache_log {directory}/cache.log\naccess_log none\ncoredump_dir {directory}\nforwarded_for delete\n"
        )
        process = subprocess.Popen([squid, "-N", "-f", str(file)])
        try:
            sys.exit(process.wait())
        finally:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
