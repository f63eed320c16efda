"""What may be said to a tool, and what is made of it (contract 9)."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from capgate.host.calls.errors import ToolError
from capgate.policy.text import show

__all__ = ["CALL_ARGUMENTS", "checked_texts", "compact", "shown", "tool_name", "without_userinfo"]

#: What ``call_extension`` takes besides the name.
CALL_ARGUMENTS: Final = ("url", "path", "content", "query", "input", "a", "b")
#: A longer text is not shown in a log: only whole texts can be searched for secrets, and that takes its time.
_LONGEST_SHOWN: Final = 1000
#: The part of a URL between the slashes and the last ``@`` of its authority, as browsers find it.
_USERINFO: Final = re.compile(r"\A([\s\x00-\x20]*(?:[A-Za-z][A-Za-z0-9+.-]*:)?[/\\]*)[^/\\?#]*@")
_IGNORED: Final = str.maketrans("", "", "\t\n\r")


def tool_name(name: object) -> str:
    """The name of the tool that is called.

    Raises:
        ToolError: ``missing-argument``, ``invalid-argument``.
    """
    if name is None:
        raise ToolError("missing-argument", "the name of the tool is missing")
    if name == "":
        raise ToolError("invalid-argument", "the name of the tool is empty")
    if type(name) is not str:
        raise ToolError("invalid-argument", f"the name of the tool is no text, but {show(name) or 'an empty list'}")
    return name


def checked_texts(args: object, known: Collection[str]) -> dict[str, str]:
    """The arguments, all of them texts and all of them known.

    Args:
        args: what was said; None for nothing.
        known: the names that there are.

    Raises:
        ToolError: ``invalid-argument``.
    """
    if args is None:
        return {}
    if type(args) is not dict:
        raise ToolError("invalid-argument", "the arguments are not an object")
    for key, value in args.items():
        if key not in known:
            there_are = ", ".join(sorted(known))
            raise ToolError("invalid-argument", f"there is no argument {show(key)}; there are {there_are}")
        if type(value) is not str:
            raise ToolError("invalid-argument", f"the argument {key} is {show(value)}, not a text")
    return dict(args)


def shown(args: Mapping[str, str]) -> dict[str, Any]:
    """The arguments as a log may show them, before secrets are taken out."""
    return {
        key: without_userinfo(value) if len(value) <= _LONGEST_SHOWN else f"‹{len(value)} characters›"
        for key, value in args.items()
    }


def without_userinfo(url: str) -> str:
    """A URL without what stands before the ``@`` of its authority (contract 11.14); other texts stay as they are."""
    if "@" not in url:
        return url
    return _USERINFO.sub(r"\1[redacted]@", url.translate(_IGNORED))


def compact(value: Any) -> str:
    """JSON on one line, without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
