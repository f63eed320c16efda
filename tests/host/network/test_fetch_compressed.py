"""Compressed answers: unpacked, and bombs among them stopped (contract 11.15)."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from collections.abc import Callable

import pytest

from capgate.host.mediation.decoding import Body
from capgate.host.mediation.network import NetworkSettings
from capgate.plugins.api import Refused, Response
from network_samples import answer, says, serving, session

LIMIT = 10_000


def outcome(packed: bytes, encoding: str) -> str | bytes:
    """The id of the refusal, or the content."""
    with serving(says(answer(packed, Content_Encoding=encoding))) as server:
        found = session(settings=NetworkSettings(max_bytes=LIMIT, seconds=30)).get(f"{server.url}/x")
    assert isinstance(found, Refused | Response)
    return found.id if isinstance(found, Refused) else found.body


#: Ways to pack a body: what the header says, and what does it.
PACKED: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "upper case": ("GZIP", gzip.compress),
    "old name": ("x-gzip", gzip.compress),
    "with identity": ("gzip, identity", gzip.compress),
    "zlib": ("deflate", zlib.compress),
    "raw deflate": ("deflate", lambda body: zlib.compress(body, wbits=-15)),
    "two members": ("gzip", lambda body: gzip.compress(body[:5], mtime=0) + gzip.compress(body[5:], mtime=0)),
    "padded": ("gzip", lambda body: gzip.compress(body, mtime=0) + b"\0\0padding"),
    "identity": ("identity", bytes),
    "empty": ("", bytes),
}


@pytest.mark.parametrize("way", PACKED)
@pytest.mark.parametrize("size", [0, 1, 10, LIMIT])
def test_a_compressed_body_is_unpacked(way: str, size: int) -> None:
    encoding, pack = PACKED[way]
    body = (b"tide table " * LIMIT)[:size]

    assert outcome(pack(body), encoding) == body


@pytest.mark.parametrize("way", PACKED)
def test_one_byte_more_than_the_cap_is_over_budget(way: str) -> None:
    encoding, pack = PACKED[way]

    assert outcome(pack(bytes(LIMIT + 1)), encoding) == "over-budget"


@pytest.mark.parametrize("way", PACKED)
@pytest.mark.parametrize("piece", [1, 2, 3])
def test_it_is_all_the_same_how_it_is_cut(way: str, piece: int) -> None:
    encoding, pack = PACKED[way]
    body, packed = b"tide table " * 9, pack(b"tide table " * 9)
    unpacked = Body(encoding, LIMIT)
    for at in range(0, len(packed), piece):
        unpacked.feed(packed[at : at + piece])

    assert unpacked.finish() == body


@pytest.mark.parametrize(("encoding", "wbits"), [("gzip", 31), ("deflate", 15), ("deflate", -15)])
def test_a_bomb_is_over_budget_and_never_unpacked(encoding: str, wbits: int) -> None:
    packer = zlib.compressobj(9, wbits=wbits)
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(64)) + packer.flush()
    assert len(bomb) < 1 << 20
    with serving(says(answer(bomb, Content_Encoding=encoding))) as server:
        one = session(settings=NetworkSettings(seconds=30))
        one.refusal(f"{server.url}/x")  # what is imported on the way is not counted
        tracemalloc.start()
        try:
            refusal = one.refusal(f"{server.url}/x")
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

    assert refusal == "over-budget"
    assert peak < 8 << 20


def test_members_without_end_are_over_budget_though_each_is_small() -> None:
    member = gzip.compress(b"x", mtime=0)

    assert outcome(member * 400, "gzip") == b"x" * 400
    assert outcome(gzip.compress(b"x" * 100, mtime=0) * 101, "gzip") == "over-budget"


#: Bodies that are not what the header says.
BROKEN = {
    "no gzip": (b"plain", "gzip"),
    "no deflate": (b"plain", "deflate"),
    "a header alone": (b"x\x9c", "deflate"),
    "no end": (gzip.compress(b"x" * 100)[:-9], "gzip"),
    "hardly a start": (gzip.compress(b"x" * 100)[:12], "gzip"),
    "no end in zlib": (zlib.compress(b"x" * 100)[:-5], "deflate"),
    "a second member that is none": (gzip.compress(b"x") + b"\x1f\x8b\x08not a member", "gzip"),
    "brotli": (b"x", "br"),
    "zstandard": (b"x", "zstd"),
    "compress": (b"x", "compress"),
    "twice": (gzip.compress(gzip.compress(b"x")), "gzip, gzip"),
    "with a parameter": (gzip.compress(b"x"), "gzip;q=1"),
    "no word": (b"x", "ÿ"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_not_compressed_as_it_says_fails(name: str) -> None:
    assert outcome(*BROKEN[name]) == "fetch-failed"
