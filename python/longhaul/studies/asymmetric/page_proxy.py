"""Squid at the hub, in the foreground, without a cache on disk; ends with this program. Argument: its port."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path


def main() -> None:
    """Becomes squid."""
    port = sys.argv[1]
    squid = shutil.which("squid") or "/usr/sbin/squid"
    directory = Path(tempfile.gettempdir()) / f"longhaul-squid-{os.getpid()}"
    directory.mkdir(mode=0o777)
    directory.chmod(0o777)
    file = directory / "squid.conf"
    file.write_text(
        f"http_port {port}\nhttp_access allow all\ncache deny all\npid_filename none\nvisible_hostname hub\n"
        f"cache_log {directory}/cache.log\naccess_log none\ncoredump_dir {directory}\nshutdown_lifetime 1 seconds\n"
        "server_persistent_connections on\nclient_persistent_connections on\nforwarded_for delete\n"
    )
    os.execv(squid, [squid, "-N", "-f", str(file)])


if __name__ == "__main__":
    main()
