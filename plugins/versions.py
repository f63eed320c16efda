"""Version specifiers such as ``>=0.1,<0.2``: the part of PEP 440 that pins and ranges need."""

from __future__ import annotations

import re
from math import inf
from typing import Final, TypeAlias

__all__ = ["allows", "base"]

_VERSION: Final = re.compile(
    r"v?(?P<release>[0-9]{1,9}(?:\.[0-9]{1,9})*)"
    r"(?:[-_.]?(?P<phase>a|b|c|rc|alpha|beta|pre|preview)[-_.]?(?P<pre>[0-9]{0,9}))?"
    r"(?P<post>[-_.]?(?:post|rev|r)[-_.]?(?P<post_number>[0-9]{0,9})|-(?P<post_short>[0-9]{1,9}))?"
    r"(?P<dev>[-_.]?dev[-_.]?(?P<dev_number>[0-9]{0,9}))?"
    r"(?:\+[a-z0-9]+(?:[-_.][a-z0-9]+)*)?",
    re.IGNORECASE,
)
_CLAUSE: Final = re.compile(r"(==|!=|~=|>=|<=|>|<)\s*(\S+?)(\.\*)?")
_PHASES: Final = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}

_Release: TypeAlias = "tuple[int, ...]"
_Key: TypeAlias = "tuple[_Release, tuple[float, int], float, float]"


def allows(specifier: str, version: str) -> bool | None:
    """Whether every clause of `specifier` holds for `version`; None where one of the two cannot be read.

    Known are ``==``, ``!=``, ``~=``, ``>=``, ``<=``, ``>``, ``<``, and ``.*`` after the first two. A
    local part (``+local``) is not compared.
    """
    found = _key(version)
    if found is None:
        return None
    answers = [_holds(clause.strip(), found) for clause in specifier.split(",")]
    return None if None in answers else all(answers)


def base(version: str) -> str:
    """The release numbers of `version`: a development version counts as the release it becomes."""
    found = _VERSION.fullmatch(version)
    return found["release"] if found else version


def _holds(clause: str, found: _Key) -> bool | None:
    parts = _CLAUSE.fullmatch(clause)
    if parts is None:
        return None
    operator, text, star = parts.groups()
    bound = _key(text)
    if bound is None:
        return None
    if star or operator == "~=":
        # Compared as written: "1.0.*" is not "1.*".
        prefix = tuple(int(number) for number in base(text).lstrip("v").split("."))
        if operator == "~=":
            return None if star or len(prefix) < 2 else found >= bound and _starts(found[0], prefix[:-1])
        if operator not in ("==", "!="):
            return None
        return _starts(found[0], prefix) == (operator == "==")
    if operator == "==":
        return found == bound
    if operator == "!=":
        return found != bound
    if operator == ">=":
        return found >= bound
    if operator == "<=":
        return found <= bound
    if operator == ">":
        # A later build of the very release (1.0.post1) is not what "> 1.0" asks for.
        return found > bound and not (found[0] == bound[0] and bound[2] < 0 <= found[2])
    # Nor is an early build of it (2.0rc1) what "< 2.0" asks for.
    return found < bound and not (found[0] == bound[0] and _final(bound) and not _final(found))


def _starts(release: _Release, prefix: _Release) -> bool:
    filled = release + (0,) * (len(prefix) - len(release))
    return filled[: len(prefix)] == prefix


def _final(key: _Key) -> bool:
    return key[1][0] == inf and key[3] == inf


def _key(version: str) -> _Key | None:
    """What versions are ordered by: release, phase before it, number after it, development number."""
    found = _VERSION.fullmatch(version)
    if found is None:
        return None
    release = [int(number) for number in found["release"].split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    post = int(found["post_number"] or found["post_short"] or 0) if found["post"] else -1
    dev = int(found["dev_number"] or 0) if found["dev"] else inf
    if found["phase"]:
        phase = (float(_PHASES[found["phase"].lower()]), int(found["pre"] or 0))
    else:
        phase = (-1.0 if found["dev"] and not found["post"] else inf, 0)
    return tuple(release), phase, post, dev
