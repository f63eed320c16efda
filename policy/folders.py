"""Folders of rule files: what belongs in one, and what may not lie there unnoticed."""

from __future__ import annotations

import os

from capgate.policy.errors import Span
from capgate.policy.rule_errors import Problems, RuleError

__all__ = ["RULESET", "rule_files"]

RULESET = "ruleset.yaml"
_LEFT_ALONE = frozenset({"tests", "README.md", "__init__.py", "__pycache__"})
_LARGEST = 1 << 20


def rule_files(folder: str | os.PathLike[str], problems: Problems) -> dict[str, bytes] | None:
    """The files of a folder of rules, by name in the order of names, with their content; None without a folder.

    A rule that is silently passed over is a hole in the gate: whatever is neither a rule file nor one
    of the few things that are left alone (``tests/``, ``README.md``, dot files, Python package files)
    is a problem.
    """
    try:
        real = os.path.realpath(folder, strict=True)
        entries = sorted(os.scandir(real), key=lambda entry: entry.name)
    except (OSError, RuntimeError, ValueError) as error:
        message = f"the folder cannot be read: {_reason(error)}"
        problems.add(RuleError("rules-unreadable", message, span=Span(os.fspath(folder))))
        return None
    files: dict[str, bytes] = {}
    for entry in entries:
        if entry.name in _LEFT_ALONE or entry.name.startswith("."):
            continue
        span = Span(os.path.join(folder, entry.name))
        if not entry.name.endswith(".yaml"):
            hint = None
            if entry.name.lower().endswith((".yml", ".yaml")):
                stem, _ = os.path.splitext(entry.name)
                hint = f"Call it {stem + '.yaml'!r} if it is a rule; else move it away."
            problems.add(RuleError("rules-foreign", f"{entry.name!r} is no rule file", hint=hint, span=span))
            continue
        try:
            target = os.path.realpath(entry.path, strict=True)
            inside = os.path.commonpath([target, real]) == real
            # Opening a named pipe would wait for a writer.
            if inside and os.path.isfile(target):
                with open(target, "rb") as stream:
                    files[entry.name] = stream.read(_LARGEST + 1)  # one more, so that the loader says it is too large
                continue
            what = "is not a regular file" if inside else "is a link that leaves the folder"
            problems.add(RuleError("rules-foreign", f"{entry.name!r} {what}", span=span))
        except (OSError, RuntimeError) as error:
            problems.add(RuleError("rules-unreadable", f"the file cannot be read: {_reason(error)}", span=span))
    return files


def _reason(error: OSError | RuntimeError | ValueError) -> str:
    """What the system says; before Python 3.13 a link to itself is a RuntimeError, a NUL in a name a ValueError."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
