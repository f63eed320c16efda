"""Distributions with plugins, laid out in a folder as an installer leaves them."""

from __future__ import annotations

from pathlib import Path


def lay_out(folder: Path, name: str, source: str, *, version: str = "1.2", entry_points: str = "") -> None:
    """Puts the distribution ``capgate-NAME`` with the plugin NAME into `folder`; `source` is its module."""
    module = f"capgate_{name}"
    files = {
        f"{module}.py": source,
        f"{module}-1.2.dist-info/METADATA": f"Metadata-Version: 2.1\nName: capgate-{name}\nVersion: {version}\n",
        f"{module}-1.2.dist-info/entry_points.txt": entry_points or f"[capgate]\n{name} = {module}\n",
    }
    files[f"{module}-1.2.dist-info/RECORD"] = "".join(f"{path},,\n" for path in files)
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
