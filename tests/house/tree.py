"""The source tree as packaging sees it: which folder is which package, and which files belong to it."""

from __future__ import annotations

import configparser
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "capgate"


def setup_cfg(root: Path = ROOT) -> configparser.ConfigParser:
    """Reads setup.cfg of the project at `root`."""
    config = configparser.ConfigParser(interpolation=None)
    config.read(root / "setup.cfg", encoding="utf-8")
    return config


def listed(text: str) -> list[str]:
    """Splits a setup.cfg value of one item a line."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def package_folders(root: Path = ROOT) -> dict[str, Path]:
    """Maps each package of `package_dir`, such as ``capgate.policy``, to its folder."""
    pairs = (line.split("=") for line in listed(setup_cfg(root)["options"]["package_dir"]))
    return {package.strip(): root / folder.strip() for package, folder in pairs}


def installed_files(root: Path = ROOT) -> dict[PurePosixPath, Path]:
    """Maps every file that belongs to a package, by its path in a wheel, to its place in the tree.

    Read-me files for people who browse the tree and what Python compiles are not part of a package.
    """
    files = {}
    for package, folder in package_folders(root).items():
        inside = PurePosixPath(*package.split("."))
        for path in _files(folder):
            files[inside / path.relative_to(folder).as_posix()] = path
    return files


def modules(root: Path = ROOT) -> list[Path]:
    """Every module of every package, in the tree, sorted."""
    return sorted(path for path in installed_files(root).values() if path.suffix == ".py")


def link_packages(root: Path, target: Path) -> Path:
    """Lays links under `target` so that Python finds all packages there without an install; returns `target`.

    Tools that look for ``capgate/policy`` in one folder, such as mypy and import-linter, are pointed at it.
    """
    home = target / PACKAGE
    home.mkdir(parents=True, exist_ok=True)
    for link in home.iterdir():
        link.unlink()
    for package, folder in package_folders(root).items():
        if package == PACKAGE:
            for path in folder.iterdir():
                (home / path.name).symlink_to(path)
        else:
            (home / package.removeprefix(f"{PACKAGE}.")).symlink_to(folder)
    return target


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "README.md" and "__pycache__" not in path.parts:
            yield path
