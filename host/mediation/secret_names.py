"""Which names are those of secrets: of fields, parameters, headers and variables, read as words (contract 11.31)."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise
from typing import Final

__all__ = ["is_secret_name", "is_secret_variable", "words_of"]

#: A name with one of these words is a secret's.
_SECRET: Final = frozenset(
    "auth authorization password passwd pwd passphrase secret token credential credentials cookie signature sig".split()
)
#: Two words, or one where they are written without a break.
_GLUED: Final = frozenset(
    "accesskey accesstoken apikey apikeys apisecret apitoken authkey authtoken bearertoken clientsecret csrftoken"
    " encryptionkey hosttoken idtoken privatekey refreshtoken secretkey sessionid sessiontoken signingkey".split()
)
_ALONE: Final = _SECRET | _GLUED
#: What is a key, but no secret.
_PLAIN_KEYS: Final = frozenset("cache foreign map partition primary public sort".split())
#: What follows or precedes the word token where tokens are counted or described.
_AFTER_TOKEN: Final = frozenset("count limit type".split())
_BEFORE_TOKEN: Final = frozenset("max total used".split())

#: A word begins where the case changes; everything but letters parts words too.
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NO_LETTERS: Final = re.compile(r"[^A-Za-z]+")

#: Variables of the environment are held to more: their values are masked wherever they appear (contract 8).
_IN_VARIABLE: Final = re.compile(r"auth|headers|cookie|passwd|password|secret|token|credential|key|signature")
_PLAIN_IN_VARIABLE: Final = re.compile(r"author(?!i[sz])|keyboard|keymap|keyring|monkey|tokens_")


#: Variables of the shell that name folders: masking those would blank every path.
_FOLDERS: Final = frozenset({"PWD", "OLDPWD"})


def words_of(name: str) -> list[str]:
    """The words of a name, in lower case: ``X-ApiKey2`` has x, api and key."""
    return [word.lower() for word in _WORD.findall(name if name.isascii() else unicodedata.normalize("NFKC", name))]


def is_secret_name(name: str) -> bool:
    """Says whether what goes by this name is a secret."""
    # Names come from strangers: only the usual ones are worth the memory.
    return _is_secret_short(name) if len(name) <= 64 else _is_secret(name)


def is_secret_variable(name: str) -> bool:
    """Says whether an environment variable of this name holds a secret."""
    if name in _FOLDERS:
        return False
    return is_secret_name(name) or bool(_IN_VARIABLE.search(_PLAIN_IN_VARIABLE.sub("", name.lower())))


def _is_secret(name: str) -> bool:
    words = words_of(name)
    if any(word in _GLUED or (word in _SECRET and not _is_plain_token(words, i)) for i, word in enumerate(words)):
        return True
    if any(first + second in _GLUED for first, second in pairwise(words)):
        return True
    if words[-1:] == ["key"] and _PLAIN_KEYS.isdisjoint(words[-2:-1]):
        return True
    # Odd capitals hide no word: pAsSwOrD.
    parts = (part.lower() for part in _NO_LETTERS.split(name))
    return any(part in _ALONE and part not in words for part in parts)


_is_secret_short = lru_cache(maxsize=4096)(_is_secret)


def _is_plain_token(words: list[str], i: int) -> bool:
    return words[i] == "token" and (
        not _AFTER_TOKEN.isdisjoint(words[i + 1 : i + 2]) or (i > 0 and words[i - 1] in _BEFORE_TOKEN)
    )
