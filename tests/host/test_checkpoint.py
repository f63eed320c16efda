"""Signed checkpoints: what they vouch for, what they show, and what is no checkpoint or key."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_public_key

from capgate.host.admission.checkpoint import (
    Checkpoint,
    CheckpointError,
    load_checkpoint,
    public_key,
    signing_key,
)
from capgate.policy.documents import canonical, digest

AT = "2026-11-30T12:00:00.000Z"
LINKS = [digest(number) for number in range(6)]


@pytest.fixture
def key(tmp_path: Path) -> Path:
    signing_key(tmp_path / "key")
    return tmp_path / "key"


def fails(id: str, act: Callable[..., Any], *arguments: Any) -> CheckpointError:
    with pytest.raises(CheckpointError) as caught:
        act(*arguments)
    assert caught.value.id == id
    return caught.value


def signed(key: Path, links: list[str] = LINKS) -> bytes:
    return Checkpoint.of(links, AT).signed(signing_key(key)[0])


# What it vouches for


def test_a_checkpoint_says_which_ledger_how_long_and_its_head(key: Path) -> None:
    data = json.loads(signed(key))

    signature = base64.b64decode(data.pop("signature").removeprefix("ed25519:"))
    assert data == {"v": 1, "ledger": LINKS[0], "length": 6, "head": LINKS[5], "at": AT}
    public = load_pem_public_key(key.with_name("key.pub").read_bytes())
    public.verify(signature, canonical(data))  # type: ignore[call-arg,union-attr]


def test_an_empty_ledger_has_nothing_to_vouch_for() -> None:
    fails("checkpoint-empty", Checkpoint.of, [], AT)


@pytest.mark.parametrize(
    ("now", "kind"),
    [
        (LINKS, None),
        ([*LINKS, digest("more")], None),
        (LINKS[:5], "cut"),
        (LINKS[:1], "cut"),
        ([], "cut"),
        ([*LINKS[:5], digest("x")], "replaced"),
        ([*LINKS[:3], digest("x"), digest("y"), digest("z"), digest("more")], "replaced"),
        ([digest("x"), *LINKS[1:]], "swapped"),
        ([digest(f"other {number}") for number in range(6)], "swapped"),
        ([digest(f"other {number}") for number in range(3)], "swapped"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_became_of_a_ledger_since_is_named(now: list[str], kind: str | None) -> None:
    difference = Checkpoint.of(LINKS, AT).difference(now)

    assert (difference.kind if difference else None) == kind
    if difference:
        assert difference.what
        assert difference.next


# Its signature


def test_a_checkpoint_is_read_back_with_either_half_of_its_key(key: Path) -> None:
    for half in (key, key.with_name("key.pub")):
        assert load_checkpoint(signed(key), public_key(half)) == Checkpoint.of(LINKS, AT)


@pytest.mark.parametrize(
    "change",
    [
        {"length": 5},
        {"head": LINKS[4]},
        {"ledger": LINKS[1]},
        {"at": "2027-01-01T00:00:00.000Z"},
        {"signature": "ed25519:" + base64.b64encode(b"\0" * 64).decode()},
        {"signature": "ed25519:AAAA"},
        {"signature": "ed25519:not base64"},
        {"signature": ""},
    ],
    ids=str,
)
def test_a_checkpoint_that_was_changed_is_not_believed(key: Path, change: dict[str, Any]) -> None:
    changed = json.dumps(json.loads(signed(key)) | change).encode()

    fails("checkpoint-signature", load_checkpoint, changed, public_key(key))


def test_a_checkpoint_by_another_key_is_not_believed(key: Path, tmp_path: Path) -> None:
    signing_key(tmp_path / "other")

    fails("checkpoint-signature", load_checkpoint, signed(key), public_key(tmp_path / "other"))


@pytest.mark.parametrize(
    "change",
    [
        {"v": 2},
        {"v": True},
        {"length": "6"},
        {"length": 6.5},
        {"length": True},
        {"length": 0},
        {"head": "sha256:"},
        {"ledger": None},
        {"at": 5},
        {"signature": None},
        {"signature": "ed25519:é"},
        {"more": 1},
    ],
    ids=str,
)
def test_what_is_no_checkpoint_is_said(key: Path, change: dict[str, Any]) -> None:
    changed = json.dumps(json.loads(signed(key)) | change).encode()

    fails("checkpoint-malformed", load_checkpoint, changed, public_key(key))


@pytest.mark.parametrize("source", [b"", b"{}", b"[]", b"5", b"{", b"\xff", b'{"v":1,"v":1}'], ids=str)
def test_what_is_no_json_object_is_said_with_its_place(key: Path, source: bytes) -> None:
    error = fails("checkpoint-malformed", load_checkpoint, source, public_key(key), "point.json")

    assert str(error).startswith("point.json")


# Keys


def test_a_key_is_made_where_there_is_none_and_used_from_then_on(tmp_path: Path) -> None:
    first, was_made = signing_key(tmp_path / "key")
    second, was_made_again = signing_key(tmp_path / "key")

    assert (was_made, was_made_again) == (True, False)
    assert first.private_bytes_raw() == second.private_bytes_raw()
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["key", "key.pub"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o610, 0o644])
def test_a_key_that_others_may_use_is_not_signed_with(key: Path, mode: int) -> None:
    key.chmod(mode)

    fails("key-exposed", signing_key, key)


def test_a_public_key_does_not_sign(key: Path) -> None:
    public = key.with_name("key.pub")
    public.chmod(0o600)

    fails("key-malformed", signing_key, public)


def other_kind() -> bytes:
    return generate_private_key(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


@pytest.mark.parametrize(
    "pem",
    [b"", b"rubbish", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", other_kind()],
    ids=["empty", "rubbish", "half", "another kind"],
)
def test_what_is_no_ed25519_key_is_said(tmp_path: Path, pem: bytes) -> None:
    path = tmp_path / "key"
    path.write_bytes(pem)
    path.chmod(0o600)

    for act in (signing_key, public_key):
        assert str(path) in str(fails("key-malformed", act, path))


def test_a_key_that_cannot_be_read_or_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir(mode=0o700)
    (tmp_path / "file").write_bytes(b"")

    fails("key-unreadable", public_key, tmp_path / "missing")
    fails("key-unreadable", public_key, tmp_path / "folder")
    fails("key-unreadable", signing_key, tmp_path / "folder")
    fails("key-unreadable", signing_key, tmp_path / "file" / "key")
    fails("key-unwritable", signing_key, tmp_path / "nowhere" / "key")


def test_no_error_shows_a_key(key: Path) -> None:
    secret = key.read_text().splitlines()[1]
    key.chmod(0o644)

    assert secret not in str(fails("key-exposed", signing_key, key))
    key.write_text(key.read_text().replace("\n", "\nx", 1))
    os.chmod(key, 0o600)
    assert secret not in str(fails("key-malformed", signing_key, key))
