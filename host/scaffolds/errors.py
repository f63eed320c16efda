"""Why a scaffold was not written."""

from __future__ import annotations

from capgate.policy.errors import CapgateError

__all__ = ["ScaffoldError"]


class ScaffoldError(CapgateError, ValueError):
    """`capgate new` wrote nothing."""

    ids = {
        "name-unfit": "Choose a name in the form that is asked for.",
        "name-taken": "Choose another name; what exists cannot be replaced.",
        "target-exists": "Choose another name or folder, or move what is there; nothing is ever overwritten.",
        "target-unwritable": "Give a folder in which you may write, and that has space left.",
    }
