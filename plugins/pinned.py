"""Plugins pinned by the digest of their files: what the digest covers, and imports that keep to it.

The digest is SHA-256 over the canonical JSON (RFC 8785) of ``[[path, sha256 of the file], …]``, sorted
by path, for the files that the distribution's ``RECORD`` names, read afresh from disk. Left out is
what an installer writes by itself: compiled files in ``__pycache__``, the scripts it generates, and
everything in ``*.dist-info`` but ``METADATA`` and ``entry_points.txt``. So the same wheel has the same digest
everywhere. The distribution's dependencies are not covered.

A check before an import says nothing of what is imported a moment later, nor of a compiled file beside
the source. So modules of a pinned plugin are imported from the very bytes whose digest was checked.
"""

from __future__ import annotations

import csv
import hashlib
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader, all_suffixes
from importlib.metadata import Distribution
from types import CodeType, ModuleType
from typing import Final, NamedTuple

from capgate.policy.documents import digest

__all__ = ["NotPinnable", "PinnedFiles", "pin_imports", "pinned_files"]

_METADATA: Final = ("METADATA", "entry_points.txt")


class NotPinnable(Exception):
    """No digest can be told; the text says why, as a sentence."""


class PinnedFiles(NamedTuple):
    """The files of a distribution.

    Attributes:
        digest: ``sha256:<hex>`` over all of them.
        files: real path on this machine to the hex SHA-256 of the content.
        modules: dotted names of the modules among them.
        packages: dotted names of those that are packages with an ``__init__``.
    """

    digest: str
    files: Mapping[str, str]
    modules: frozenset[str]
    packages: frozenset[str]

    def owns(self, module: str) -> bool:
        """Whether `module` is one of these modules, or would lie in one of these packages."""
        if module in self.modules:
            return True
        parts = module.split(".")
        return any(".".join(parts[:count]) in self.packages for count in range(1, len(parts)))


def pinned_files(distribution: Distribution) -> PinnedFiles:
    """The files of an installed distribution and their digest.

    Raises:
        NotPinnable: it is installed so that its files are not known, or one cannot be read.
    """
    paths = _recorded(distribution)
    if any(path.endswith(".pth") for path in paths):
        raise NotPinnable("it is an editable install, whose files may change at any time")
    hashes: dict[str, str] = {}
    files: dict[str, str] = {}
    modules: set[str] = set()
    packages: set[str] = set()
    for path in filter(_is_covered, paths):
        real = os.path.realpath(str(distribution.locate_file(path)))
        try:
            with open(real, "rb") as file:
                hashes[path] = files[real] = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise NotPinnable(f"its file {path} cannot be read: {error.strerror}") from None
        name, is_package = _module(path)
        if name:
            modules.add(name)
        if is_package:
            packages.add(name)
    listed = digest([[path, found] for path, found in sorted(hashes.items())])
    return PinnedFiles(listed, files, frozenset(modules), frozenset(packages))


def _recorded(distribution: Distribution) -> list[str]:
    try:
        record = distribution.read_text("RECORD") or ""
        paths = sorted({row[0] for row in csv.reader(record.splitlines()) if row})
    except (UnicodeDecodeError, csv.Error):
        paths = []
    if not paths:
        raise NotPinnable("it has no RECORD that can be read, so its files are not known")
    return paths


def _is_covered(path: str) -> bool:
    *folders, name = path.split("/")
    if "__pycache__" in folders:
        return False
    if folders and folders[0].endswith(".dist-info"):
        return len(folders) == 1 and name in _METADATA
    return not (folders and folders[0] == ".." and folders[-1] in ("bin", "Scripts"))


def _module(path: str) -> tuple[str, bool]:
    """The dotted name of the module in `path`, empty for none, and whether it is a package."""
    for suffix in sorted(all_suffixes(), key=len, reverse=True):
        if path.endswith(suffix):
            parts = path.removesuffix(suffix).split("/")
            if not all(part.isidentifier() for part in parts):
                return "", False
            return (".".join(parts[:-1]), True) if parts[-1] == "__init__" else (".".join(parts), False)
    return "", False


def pin_imports(pinned: PinnedFiles) -> str | None:
    """From now on, modules of `pinned` are imported from exactly those files.

    Returns:
        The name of a module of it that was imported before in another way, None where all is well.
    """
    finders = [finder for finder in sys.meta_path if isinstance(finder, _Finder) and finder.pinned == pinned]
    finder = finders[0] if finders else _Finder(pinned)
    for name in list(sys.modules):
        if pinned.owns(name) and name not in finder.found:
            return name
    if not finders:
        # First, so that nothing else answers for these names.
        sys.meta_path.insert(0, finder)
    return None


class _Finder:
    """Finds the modules of one pinned distribution, and refuses any that it does not know."""

    def __init__(self, pinned: PinnedFiles):
        self.pinned = pinned
        self.found: set[str] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """As `importlib.abc.MetaPathFinder.find_spec`.

        Raises:
            ImportError: the module would come from a file that was not checked.
        """
        if not self.pinned.owns(name):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None:
            raise ModuleNotFoundError(f"no module named {name!r}", name=name)
        if spec.origin is None:  # A folder without code of its own.
            self.found.add(name)
            return spec
        expected = self.pinned.files.get(os.path.realpath(spec.origin))
        if expected is None:
            raise ImportError(f"{spec.origin} is not among the files that were pinned", name=name)
        if isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(name, spec.origin, expected)
            spec.cached = None
        else:
            with open(spec.origin, "rb") as file:
                _check(file.read(), expected, spec.origin)
        self.found.add(name)
        return spec


class _Loader(SourceFileLoader):
    """Compiles a module from bytes that have the expected digest, and from nothing else."""

    def __init__(self, name: str, path: str, expected: str):
        super().__init__(name, path)
        self._expected = expected

    def get_code(self, fullname: str) -> CodeType | None:
        """The code of the module; compiled files are neither read nor written."""
        path = self.get_filename(fullname)
        source = self.get_data(path)
        _check(source, self._expected, path)
        code: CodeType = self.source_to_code(source, path)
        return code


def _check(content: bytes, expected: str, path: str) -> None:
    if hashlib.sha256(content).hexdigest() != expected:
        raise ImportError(f"{path} has changed since its digest was checked")
