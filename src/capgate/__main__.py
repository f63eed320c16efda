"""``python -m capgate`` is the command ``capgate``."""

from __future__ import annotations

import sys

from capgate.host.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
