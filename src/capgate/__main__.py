"""``python -m capgate`` is the command ``capgate``."""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    # Python puts the current folder first; what lies there is to be judged, not imported.
    if not sys.flags.safe_path and sys.path and os.path.realpath(sys.path[0] or ".") == os.path.realpath("."):
        del sys.path[0]
    from capgate.host.cli.main import main

    sys.exit(main())
