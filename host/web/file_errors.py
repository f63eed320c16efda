"""What a request about the active root is refused by, over HTTP (contract 4 and 7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from capgate.host.admission.errors import AdmissionError
from capgate.plugins.api import Refused

__all__ = ["MOST_SHOWN", "FileError"]

#: The most bytes of a file that are shown over HTTP.
MOST_SHOWN = 1024 * 1024


class FileError(AdmissionError):
    """A file was not reached; each id is also the one that a file tool is refused by."""

    answers: ClassVar[Mapping[str, tuple[int, str]]] = {
        "root-not-declared": (409, "Declare a root first: POST /api/root."),
        "no-page": (409, "Open the page; its root can be reached through it alone."),
        "bad-path": (403, "Use names of at most 255 bytes, without NUL."),
        "outside-root": (403, "Name a file below the root, without '..'."),
        "protected-audit": (403, "Leave the audit and the proposals to the host."),
        "dotfile-refused": (403, "Name a file whose path has no name that begins with a dot."),
        "missing": (404, "Look at /api/files for what there is."),
        "missing-parent": (404, "Name a file in a folder that is there; folders are not made."),
        "not-a-file": (403, "Name a regular file."),
        "unreadable": (403, "Make the file readable for the host's user."),
        "unwritable": (403, "Make the file and its folder writable for the host's user."),
        "not-text": (403, "Only UTF-8 text is read and written."),
        "over-budget": (403, f"At most {MOST_SHOWN} bytes are shown, and 65536 written."),
    }
    ids: ClassVar[Mapping[str, str]] = {id: advice for id, (_, advice) in answers.items()}

    @classmethod
    def of(cls, refused: Refused) -> FileError:
        """The refusal of a file interface, as an answer."""
        return cls(refused.id, refused.why, details=refused.details)
