"""Which file an extension's id stands for, in folders where anybody may have put anything."""

from __future__ import annotations

from typing import Final

from capgate.host.admission.errors import AdmissionError

__all__ = ["SUFFIX", "id_of", "name_of"]

#: What the name of every descriptor's and every proposal's file ends in.
SUFFIX: Final = ".json"
#: The longest name of a file, in bytes.
_LONGEST: Final = 255


def name_of(id: str) -> str | None:
    """The name of the file for `id`; None where no file can have it.

    Raises:
        AdmissionError: unreadable: `id` is what `id_of` made of an odd name, or could be.
    """
    if "\\" in id:
        raise AdmissionError("unreadable", f"the name of the file {id}{SUFFIX} is none that an extension can have")
    name = id + SUFFIX
    try:
        encoded = name.encode()
    except UnicodeEncodeError:
        return None
    return None if len(encoded) > _LONGEST or "/" in id or "\0" in id or id[:1] in ("", ".") else name


def id_of(name: str) -> str | None:
    r"""The id that a file's name stands for; None where it stands for none.

    Bytes that are no UTF-8 are shown as escapes, so the id of an odd file is plain text, and has a ``\``.
    """
    stem = name.removesuffix(SUFFIX)
    return None if stem == name or stem[:1] in ("", ".") else stem.encode("utf-8", "backslashreplace").decode()
