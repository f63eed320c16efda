"""A PostgreSQL server of the tests' own, on a socket in a folder of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

#: What to do where there is none.
MISSING = "PostgreSQL is not installed: apt-get install postgresql"


def programs() -> Path | None:
    """The folder of the newest server's programs, or None."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    initdb = shutil.which("initdb")
    return Path(initdb).parent if initdb else None


@contextmanager
def server(bin: Path) -> Iterator[str]:
    """A running server; gives the start of its addresses, to which the name of a database is added.

    It never waits for the disk: what is tested is what it does, not what it survives.
    """
    # The path of a socket may have no more than 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    # A server does not run as root.
    user = "postgres" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
    as_user = ["runuser", "-u", user, "--"] if os.getuid() == 0 else []
    if as_user:
        shutil.chown(folder, user)

    def run(*command: str | Path) -> None:
        done = subprocess.run(
            [*as_user, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        assert done.returncode == 0, done.stdout

    data = folder / "data"
    quick = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=300"
    try:
        run(bin / "initdb", "--no-sync", "--auth", "trust", "--username", "capgate", "--pgdata", data)
        options = f"{quick} -c listen_addresses='' -c unix_socket_directories='{folder}'"
        run(bin / "pg_ctl", "--pgdata", data, "--wait", "--log", folder / "log", "--options", options, "start")
        try:
            yield f"postgresql://capgate@/{{}}?host={quote(str(folder), safe='')}"
        finally:
            run(bin / "pg_ctl", "--pgdata", data, "--mode", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
