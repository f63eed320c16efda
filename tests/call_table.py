"""The table of calls: each row a call, the section of the contract that it is of, and its exact result."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from network_samples import PUBLIC, answer

__all__ = ["NAMES", "PAGES", "ROWS", "TOOLS", "Row"]


class Row(NamedTuple):
    """A call and what comes of it.

    Attributes:
        section: of the contract.
        tool: name of the tool; of `TOOLS`, or one of nobody's.
        args: what is said.
        result: exactly, but for its ``correlationId``.
        bounds: of the extension, where the row needs others.
        times: how often it is called; the result is the last one's.
        root: ``machine``, ``page`` or none.
    """

    section: str
    tool: Any
    args: Any
    result: dict[str, Any]
    bounds: dict[str, Any] | None = None
    times: int = 1
    root: str | None = "machine"


def refused(id: str, why: str, **details: Any) -> dict[str, Any]:
    return {"ok": False, "refused": id, "why": why, **details}


def fetched(
    body: str = "calm", *, status: int = 200, used: str = "1/9", via: tuple[str, ...] = (), **more: Any
) -> dict[str, Any]:
    result = {"ok": True, "status": status, "host": "buoys.test", "servedBy": "http://buoys.test", "via": list(via)}
    return result | {"request": used, "body": body} | more


#: The names that there are, and their addresses.
NAMES = {
    "buoys.test": [PUBLIC],
    "relay.test": [PUBLIC],
    "inner.test": ["10.0.0.1"],
    "mixed.test": [PUBLIC, "127.0.0.1"],
    "meta.test": ["169.254.169.254"],
    "six.test": ["::ffff:10.0.0.1"],
}
HOSTS = [
    "buoys.test",
    "relay.test",
    "inner.test",
    "mixed.test",
    "meta.test",
    "six.test",
    "gone.test",
    "169.254.169.254",
]
_JSON = {"Content_Type": "application/json"}
_FOUND = {"web": {"results": [{"title": "Tide", "description": "Times", "url": "https://t.test/"}]}}
#: The pages of every host.
PAGES = {
    "calm": answer(b"calm"),
    "gone": answer(b"no buoy", 404),
    "broken": answer(b"sunk", 500),
    "long": answer(("é" * 1999 + "😀").encode()),
    "big": answer(b"x" * 5000),
    "answer": answer(json.dumps({"Answer": "at six"}).encode(), **_JSON),
    "abstract": answer(json.dumps({"Heading": "Tide", "AbstractText": "It comes."}).encode(), **_JSON),
    "topics": answer(json.dumps({"RelatedTopics": [{"Text": "Moon"}, {"Text": "Sun"}]}).encode(), **_JSON),
    "results": answer(json.dumps(_FOUND).encode()),
    "moved": answer(b"", 302, Location="/calm"),
    "away": answer(b"", 307, Location="http://relay.test/calm"),
    "off": answer(b"", 301, Location="https://evil.test/x?token=abcdef123"),
    "nowhere": answer(b"", 303),
    "bad": answer(b"", 302, Location="http://["),
    "withuser": answer(b"", 302, Location="http://u:p@buoys.test/calm"),
    "scheme": answer(b"", 302, Location="ftp://buoys.test/calm"),
    "round": answer(b"", 302, Location="/round"),
}


def _get(path: str, **params: Any) -> dict[str, Any]:
    return {"primitive": "http-get", "params": {"url": f"http://buoys.test/{path}", **params}}


#: Every tool that a row calls; each is the one tool of an extension of its own.
TOOLS: dict[str, dict[str, Any]] = {
    "tide_now": {"primitive": "now"},
    "look": {"primitive": "list-files"},
    "peek": {"primitive": "read-file", "params": {"path": "notes.txt"}},
    "peek_any": {"primitive": "read-file"},
    "poke": {"primitive": "write-file"},
    "poke_log": {"primitive": "write-file", "params": {"path": "log.txt", "content": "set"}},
    "get": _get("calm"),
    "get_any": {"primitive": "http-get"},
    "get_with_header": _get("calm", headers={"X-Plain": "literal", "X-Key": "$NOT_ALLOWED"}),
    "get_query": _get("calm?q=set"),
}


def _peek(path: str, result: dict[str, Any]) -> Row:
    return Row("7 read-file", "peek_any", {"path": path}, result)


def _read(path: str, content: str) -> Row:
    return _peek(path, {"ok": True, "action": path, "content": content})


def _poke(path: str, content: str, result: dict[str, Any], **bounds: Any) -> Row:
    return Row("7 write-file", "poke", {"path": path, "content": content}, result, bounds or None)


def _wrote(path: str, content: str, size: int, **bounds: Any) -> Row:
    return _poke(path, content, {"ok": True, "action": f"wrote {path} ({size} bytes)"}, **bounds)


def _url(path: str) -> str:
    return f"http://buoys.test/{path}"


def _page(path: str, *args: Any, section: str = "7 http-get", **options: Any) -> Row:
    """A fetch that ends with an answer of the first page."""
    return Row(section, "get_any", {"url": _url(path)}, fetched(*args, via=(_url(path),), **options))


def _no_page(url: str, id: str, why: str, section: str = "7 http-get", **details: Any) -> Row:
    return Row(section, "get_any", {"url": url}, refused(id, why, **details))


_NOW = "Friday, 15 January 2027, 08:00:00 UTC"
_NAMES = ["fifo", "inside.txt", "loop", "notes.txt", "odd.bin", "out.txt", "outdir", "sub", "tohidden"]
_NO_ROOT = refused("root-not-declared", "no root is declared: name a workspace when the host starts, or declare a root")
_NO_PAGE = refused("no-page", "the root belongs to a page, and none is connected", via="page")
_KEPT = "belongs to the audit or the proposals, which the host keeps"
_DOT = "has a dotfile in it, and host secrets live behind that line"
_HOSTS = f"bounds.hosts is [{', '.join(HOSTS)}]"
_ARGUMENTS = "a, b, content, input, path, query, url"

ROWS: list[Row] = [
    # now
    Row("7 now", "tide_now", {}, {"ok": True, "action": "now", "content": _NOW}),
    Row("7 now", "tide_now", None, {"ok": True, "action": "now", "content": _NOW}, root=None),
    Row("7 now", "tide_now", {"path": "ignored"}, {"ok": True, "action": "now", "content": _NOW}, root="page"),
    # list-files
    Row("7 list-files", "look", {}, {"ok": True, "action": "list", "files": _NAMES}),
    Row("7 list-files", "look", {}, _NO_ROOT, root=None),
    Row("7 list-files", "look", {}, _NO_PAGE, root="page"),
    # read-file
    Row("7 read-file", "peek", {}, {"ok": True, "action": "notes.txt", "content": "high tide\n"}),
    Row("7 read-file", "peek", {"path": "sub/n.txt"}, {"ok": True, "action": "sub/n.txt", "content": "low tide"}),
    Row("7 read-file", "peek", {}, _NO_ROOT, root=None),
    Row("7 read-file", "peek", {}, _NO_PAGE, root="page"),
    Row("7 paths", "peek", {"path": "../x"}, _NO_ROOT, root=None),
    Row("7 read-file", "peek_any", {}, refused("outside-root", "the path '' names nothing below the root")),
    _read("sub/./n.txt", "low tide"),
    _read("./notes.txt", "high tide\n"),
    _read("sub//n.txt", "low tide"),
    _read("inside.txt", "low tide"),
    _peek("gone.txt", refused("missing", "there is no gone.txt")),
    _peek("gone/n.txt", refused("missing", "there is no gone/n.txt")),
    _peek("notes.txt/x", refused("missing", "there is no notes.txt/x")),
    _peek("", refused("outside-root", "the path '' names nothing below the root")),
    _peek("  ", refused("outside-root", "the path '  ' names nothing below the root")),
    _peek(".", refused("outside-root", "the path '.' names nothing below the root")),
    _peek("/etc/passwd", refused("outside-root", "the path /etc/passwd is absolute")),
    _peek("../.ssh/x", refused("outside-root", "the path ../.ssh/x has a '..' segment")),
    _peek("sub/../notes.txt", refused("outside-root", "the path sub/../notes.txt has a '..' segment")),
    _peek("out.txt", refused("outside-root", "a link in out.txt leads out of the root")),
    _peek("outdir/gone.txt", refused("outside-root", "a link in outdir/gone.txt leads out of the root")),
    _peek(".audit/x", refused("protected-audit", f".audit/x {_KEPT}")),
    _peek("audit.jsonl", refused("protected-audit", f"audit.jsonl {_KEPT}")),
    _peek("AUDIT.jsonl.7", refused("protected-audit", f"AUDIT.jsonl.7 {_KEPT}")),
    _peek("proposals/x.json", refused("protected-audit", f"proposals/x.json {_KEPT}")),
    _peek("sub/.env", refused("dotfile-refused", f"sub/.env {_DOT}")),
    _peek("tohidden", refused("dotfile-refused", f"tohidden {_DOT}")),
    _peek("sub", refused("not-a-file", "sub is no regular file")),
    _peek("notes.txt/", refused("not-a-file", "notes.txt/ is no regular file")),
    _peek("fifo", refused("not-a-file", "fifo is no regular file")),
    _peek("a\0b", refused("bad-path", r"the path a\u0000b holds a NUL or half a character")),
    _peek("x" * 256, refused("bad-path", f"the path {'x' * 199}… has a name of more than 255 bytes")),
    _peek("loop", refused("unreadable", "loop cannot be opened: it goes through more than 40 links")),
    _peek("odd.bin", refused("not-text", "odd.bin is not UTF-8")),
    # write-file
    Row("7 write-file", "poke_log", {}, {"ok": True, "action": "wrote log.txt (3 bytes)"}),
    Row("7 write-file", "poke_log", {"content": ""}, {"ok": True, "action": "wrote log.txt (0 bytes)"}),
    Row("7 write-file", "poke", {"path": "new.txt"}, {"ok": True, "action": "wrote new.txt (0 bytes)"}),
    Row("7 write-file", "poke", {"path": "new.txt"}, _NO_ROOT, root=None),
    Row("7 write-file", "poke", {"path": "new.txt"}, _NO_PAGE, root="page"),
    _wrote("sub/new.txt", "é", 2),
    _wrote("notes.txt", "x" * 65536, 65536),
    _wrote("notes.txt", "ab", 2, maxBytes=2.0),
    _wrote("notes.txt", "", 0, maxBytes=0),
    _poke("n.txt", "x" * 65537, refused("over-budget", "65537 bytes for n.txt, and bounds.maxBytes is 65536")),
    _poke("n.txt", "é", refused("over-budget", "2 bytes for n.txt, and bounds.maxBytes is 1"), maxBytes=1),
    _poke("n.txt", "x", refused("over-budget", "1 bytes for n.txt, and bounds.maxBytes is 0"), maxBytes=0),
    _poke("gone/n.txt", "x", refused("missing-parent", "the folder of gone/n.txt is not there")),
    _poke("gone/n.txt", "xx", refused("missing-parent", "the folder of gone/n.txt is not there"), maxBytes=1),
    _poke("../n.txt", "x", refused("outside-root", "the path ../n.txt has a '..' segment")),
    _poke("outdir/n.txt", "x", refused("outside-root", "a link in outdir/n.txt leads out of the root")),
    _poke("audit.jsonl", "x", refused("protected-audit", f"audit.jsonl {_KEPT}")),
    _poke("proposals/x.json", "{}", refused("protected-audit", f"proposals/x.json {_KEPT}")),
    _poke("sub/.env", "x", refused("dotfile-refused", f"sub/.env {_DOT}")),
    _poke("sub", "x", refused("not-a-file", "sub is no regular file")),
    _poke("n.txt/", "x", refused("not-a-file", "n.txt/ is no regular file")),
    # http-get
    Row("7 http-get", "get", {}, fetched(via=(_url("calm"),))),
    Row("7 http-get", "get", {"query": "high tide"}, fetched(via=(_url("calm?q=high+tide"),))),
    Row("7 http-get", "get", {"query": ""}, fetched(via=(_url("calm"),))),
    Row("7 http-get", "get_query", {"query": "other"}, fetched(via=(_url("calm?q=set"),))),
    Row("7 http-get", "get_with_header", {}, fetched(via=(_url("calm"),))),
    Row("7 http-get", "get", {"url": "http://BUOYS.test.:80/calm#x"}, fetched(via=("http://buoys.test./calm",))),
    _page("gone", "no buoy", status=404),
    _page("broken", "sunk", status=500),
    _page("long", "é" * 1999),
    _page("answer", '{"Answer": "at six"}', answer="at six"),
    _page("abstract", '{"Heading": "Tide", "AbstractText": "It comes."}', answer="Tide: It comes."),
    _page("topics", '{"RelatedTopics": [{"Text": "Moon"}, {"Text": "Sun"}]}', answer="Moon"),
    _page("results", json.dumps(_FOUND), answer="Tide: Times\nhttps://t.test/"),
    Row("7 http-get", "get_any", {}, refused("bad-url", "this URL is not asked for: it cannot be parsed")),
    _no_page("calm", "bad-url", "this URL is not asked for: it cannot be parsed"),
    _no_page("http://[", "bad-url", "this URL is not asked for: it cannot be parsed"),
    _no_page("http://evil.test/", "host-not-allowed", f"evil.test is not allowed: {_HOSTS}"),
    _no_page("http://x.buoys.test/", "host-not-allowed", f"x.buoys.test is not allowed: {_HOSTS}"),
    Row(
        "7 http-get",
        "get",
        {},
        refused("budget-exhausted", "1 of 1 requests used; they renew when the host starts again"),
        {"hosts": ["buoys.test"], "maxRequests": 1},
        times=2,
    ),
    Row(
        "11.16",
        "get",
        {},
        refused("budget-exhausted", "2 of 2 requests used; they renew with the next day (UTC)"),
        {"hosts": ["buoys.test"], "maxRequests": 2, "window": "day"},
        times=3,
    ),
    Row("11.16", "get", {}, fetched(used="2/2", via=(_url("calm"),)), {"hosts": ["buoys.test"], "maxRequests": 2}, 2),
    _no_page("http://gone.test/", "fetch-failed", "gone.test cannot be reached: Name or service not known"),
    Row(
        "7 http-get",
        "get_any",
        {"url": _url("moved")},
        fetched(used="2/9", via=(_url("moved"), _url("calm"))),
    ),
    Row(
        "7 http-get",
        "get_any",
        {"url": _url("away")},
        fetched(used="2/9", via=(_url("away"), "http://relay.test/calm")) | {"servedBy": "http://relay.test"},
    ),
    _no_page(
        _url("off"),
        "redirect-host-not-allowed",
        f"buoys.test redirects to evil.test, which is not in bounds.hosts [{', '.join(HOSTS)}]; "
        f"chain: {_url('off')} → https://evil.test/x?token=[redacted]",
        chain=[_url("off"), "https://evil.test/x?token=[redacted]"],
    ),
    _no_page(
        _url("nowhere"),
        "redirect-without-location",
        "buoys.test answered 303 without saying where to go",
        chain=[_url("nowhere")],
    ),
    _no_page(
        _url("bad"),
        "bad-redirect",
        "buoys.test redirects to a URL that is not asked for: it cannot be parsed",
        chain=[_url("bad")],
    ),
    # 11: what capgate does better
    _no_page(
        "ftp://buoys.test/", "bad-url", "this URL is not asked for: its scheme is neither http nor https", "11.14"
    ),
    _no_page(
        "http://u:p@buoys.test/",
        "bad-url",
        "this URL is not asked for: it has a user name or a password, or an empty one",
        "11.14",
    ),
    _no_page(
        _url("withuser"),
        "bad-redirect",
        "buoys.test redirects to a URL that is not asked for: it has a user name or a password, or an empty one",
        "11.32",
        chain=[_url("withuser")],
    ),
    _no_page(
        _url("round"),
        "too-many-redirects",
        "no more than 5 redirects are followed; chain: " + " → ".join([_url("round")] * 7),
        "11.15",
        chain=[_url("round")] * 7,
    ),
    _page("big", "x" * 2000, section="11.15"),
]
