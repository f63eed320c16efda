"""Signed checkpoints: what a ledger was at one moment, vouched for by a key that lies elsewhere.

A chain shows what was done inside it. It cannot show that its end was cut off, or that all of it was
written anew; a checkpoint that is kept away from the ledger can.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from capgate.host.mediation.disk import Disk
from capgate.policy.documents import DocumentError, canonical, load_json
from capgate.policy.errors import CapgateError, Span

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

__all__ = ["Checkpoint", "CheckpointError", "Difference", "load_checkpoint", "public_key", "signing_key"]

VERSION: Final = 1
_LARGEST: Final = 64 * 1024
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
#: Where the public half of a key is put, beside the key.
PUBLIC: Final = ".pub"


class CheckpointError(CapgateError):
    """A checkpoint or its key cannot be used."""

    ids = {
        "checkpoint-malformed": "Give a file that `capgate ledger checkpoint` wrote.",
        "checkpoint-signature": "Give the key that signed it; with that key, the checkpoint was changed.",
        "checkpoint-empty": "Admit something first; an empty ledger has nothing to vouch for.",
        "key-exposed": "Make it readable for its owner alone (chmod 600), or use a new key.",
        "key-malformed": "Give an Ed25519 key in PEM form, without a password.",
        "key-unreadable": "Give a file that exists and that this user may read.",
        "key-unwritable": "Give a place where this user may make a file.",
    }


class Difference(NamedTuple):
    """How a ledger differs from a checkpoint of it.

    Attributes:
        kind: ``cut``, ``replaced`` or ``swapped``.
        what: a sentence.
        next: what to do, a sentence.
    """

    kind: Literal["cut", "replaced", "swapped"]
    what: str
    next: str = "Restore the ledger from a backup that is as new as the checkpoint."

    def to_json(self) -> dict[str, Any]:
        """The difference as JSON data."""
        return self._asdict()


class Checkpoint(NamedTuple):
    """What a ledger was at one moment.

    Attributes:
        ledger: which ledger: the hash of its first line.
        length: how many lines it had.
        head: hash of the last of them.
        at: when, an ISO time.
    """

    ledger: str
    length: int
    head: str
    at: str

    @classmethod
    def of(cls, links: Sequence[str], at: str) -> Checkpoint:
        """The checkpoint of a sound ledger.

        Args:
            links: the hash of each line.
            at: the time.

        Raises:
            CheckpointError: checkpoint-empty.
        """
        if not links:
            raise CheckpointError("checkpoint-empty", "the ledger has no line")
        return cls(links[0], len(links), links[-1], at)

    def difference(self, links: Sequence[str]) -> Difference | None:
        """How a sound ledger differs from what was vouched for; None where it goes on from there.

        Args:
            links: the hash of each line.
        """
        if not links:
            return Difference("cut", f"the ledger is empty; on {self.at} it had {self.length} lines")
        if links[0] != self.ledger:
            return Difference(
                "swapped",
                f"this is another ledger: its first line is not that of the ledger of {self.at}",
                "Put the ledger back that the checkpoint is of, or give the checkpoint of this one.",
            )
        if len(links) < self.length:
            # A ledger that was cut has the lines that are left in common; where it was written anew too, nobody knows.
            return Difference("cut", f"the ledger has {len(links)} lines; on {self.at} it had {self.length}")
        if links[self.length - 1] != self.head:
            what = f"the ledger was written anew: line {self.length} is not what it was on {self.at}"
            return Difference("replaced", what)
        return None

    def signed(self, key: Ed25519PrivateKey) -> bytes:
        """The checkpoint as a file: its content and the signature over that, one JSON object on one line."""
        content = self._content()
        signature = base64.b64encode(key.sign(canonical(content))).decode()
        return json.dumps(content | {"signature": f"ed25519:{signature}"}).encode() + b"\n"

    def _content(self) -> dict[str, Any]:
        return {"v": VERSION, **self._asdict()}


def load_checkpoint(source: bytes, key: Ed25519PublicKey, name: str = "<checkpoint>") -> Checkpoint:
    """Reads a checkpoint and verifies its signature.

    Args:
        source: the file's content.
        key: the key that has to have signed it.
        name: the file's name, for messages.

    Raises:
        CheckpointError: checkpoint-malformed, checkpoint-signature.
    """
    from cryptography.exceptions import InvalidSignature

    try:
        data = load_json(source, name).data
    except DocumentError as fault:
        raise CheckpointError("checkpoint-malformed", fault.message, span=fault.span) from None
    span = Span(name)
    if not _is_checkpoint(data):
        raise CheckpointError("checkpoint-malformed", "this is no checkpoint of a version known here", span=span)
    found = Checkpoint(data["ledger"], data["length"], data["head"], data["at"])
    try:
        signature = base64.b64decode(data["signature"].removeprefix("ed25519:"), validate=True)
        key.verify(signature, canonical(found._content()))
    except (InvalidSignature, ValueError):
        raise CheckpointError("checkpoint-signature", "the signature is not by this key", span=span) from None
    return found


def _is_checkpoint(data: Any) -> bool:
    if type(data) is not dict or data.keys() != {"v", "signature", *Checkpoint._fields}:
        return False
    digests = all(type(data[key]) is str and _DIGEST.fullmatch(data[key]) for key in ("ledger", "head"))
    length = type(data["length"]) is int and data["length"] > 0
    texts = type(data["at"]) is str and type(data["signature"]) is str and data["signature"].isascii()
    return digests and length and texts and type(data["v"]) is int and data["v"] == VERSION


def signing_key(path: Path, disk: Disk | None = None) -> tuple[Ed25519PrivateKey, bool]:
    """The key in the file at `path`, and whether it was made now: where there is none, one is.

    A new key is readable for its owner alone; its public half is put beside it, as ``<path>.pub``.

    Raises:
        CheckpointError: key-exposed, key-malformed, key-unreadable, key-unwritable.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    disk = disk or Disk()
    try:
        found = disk.stat(path)
    except FileNotFoundError:
        key = Ed25519PrivateKey.generate()
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        try:
            # The public half first: a key without it would be taken for an old one.
            disk.replace(path.with_name(path.name + PUBLIC), public)
            disk.replace(path, secret, 0o600)
        except OSError as fault:
            message = f"the key cannot be written: {fault.strerror}"
            raise CheckpointError("key-unwritable", message, span=Span(str(path))) from None
        return key, True
    except OSError as fault:
        raise _unreadable(path, fault) from None
    if found.st_mode & 0o077:
        raise CheckpointError("key-exposed", "others than its owner may use this key", span=Span(str(path)))
    loaded = _load(path, disk)
    if not isinstance(loaded, Ed25519PrivateKey):
        raise CheckpointError("key-malformed", "this is no private Ed25519 key", span=Span(str(path)))
    return loaded, False


def public_key(path: Path, disk: Disk | None = None) -> Ed25519PublicKey:
    """The public key in the file at `path`, or the public half of the private one there.

    Raises:
        CheckpointError: key-malformed, key-unreadable.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    loaded = _load(path, disk or Disk())
    return loaded.public_key() if isinstance(loaded, Ed25519PrivateKey) else loaded


def _load(path: Path, disk: Disk) -> Ed25519PrivateKey | Ed25519PublicKey:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

    try:
        pem = disk.read(os.path.realpath(path), _LARGEST)
    except OSError as fault:
        raise _unreadable(path, fault) from None
    try:
        loaded = load_pem_private_key(pem, None) if b"PRIVATE KEY" in pem else load_pem_public_key(pem)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        loaded = None
    if not isinstance(loaded, Ed25519PrivateKey | Ed25519PublicKey):
        raise CheckpointError("key-malformed", "this is no Ed25519 key in PEM form", span=Span(str(path)))
    return loaded


def _unreadable(path: Path, fault: OSError) -> CheckpointError:
    return CheckpointError("key-unreadable", f"the key cannot be read: {fault.strerror}", span=Span(str(path)))
