"""No secret of a call is written anywhere: wherever it is put, and whatever it looks like (contract 8, 11.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from capgate.plugins.api import Refused
from host_samples import MODEL, clock_descriptor, fetch_descriptor

World = Any  # of conftest.py
CANARY = "c4nary7f3a9cQx"
#: Every shape of section 8, with a canary in it.
SHAPES = {
    "known": CANARY,
    "bearer": f"Bearer {CANARY}",
    "basic": f"Authorization: Basic {CANARY}==",
    "cookie": f"Cookie: sid={CANARY}",
    "set-cookie": f"Set-Cookie: sid={CANARY}; Secure",
    "query": f"https://a.test/?access_token={CANARY}&q=weather",
    "encoded query": f"https://a.test/?access%5Ftoken={CANARY}",
    "json": f'{{"api_key": "{CANARY}"}}',
    "assignment": f"password={CANARY}",
    "quoted": f"secret: '{CANARY}'",
    "header name": f"X-Api-Key: {CANARY}",
    "userinfo": f"https://user:{CANARY}@a.test/",
    "user alone": f"https://{CANARY}@a.test/",
    "pem": f"-----BEGIN EC PRIVATE KEY-----\n{CANARY}\n-----END EC PRIVATE KEY-----",
    "torn pem": f"-----BEGIN RSA PRIVATE KEY-----\n{CANARY}",
    "sk": f"sk-proj-{CANARY}",
    "stripe": f"sk_live_{CANARY}{CANARY}",
    "google": f"AIza{CANARY}",
    "gitlab": f"glpat-{CANARY}{CANARY}",
    "github": f"ghp_{CANARY}{CANARY}{CANARY}"[:40],
    "jwt": f"eyJhbGciOiJI.eyJ{CANARY}.{CANARY}",
}
ARGUMENTS = ("url", "path", "content", "query", "input", "a", "b")


def written(world: World) -> str:
    """All that is on the console and in files, the proposals apart, which say what was proposed."""
    folder = world.settings.workspace.parent
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".json"]
    return world.out.getvalue() + world.err.getvalue() + "".join(path.read_text() for path in files)


@pytest.fixture
def canaries(make_world: Callable[..., World]) -> World:
    return make_world(environ={"SOME_TOKEN": CANARY})


def check(world: World, *results: Any) -> None:
    for text in (written(world), *map(str, results)):
        assert "c4nary" not in text


#: Those that are no secrets by their shape alone: a bare word, and a user without a password outside of a URL.
_PLAIN = ("known", "user alone")


@pytest.mark.parametrize(
    ("shape", "is_known"),
    [(shape, known) for known in (True, False) for shape in SHAPES if known or shape not in _PLAIN],
)
def test_no_argument_is_written_with_its_secret(make_world: Callable[..., World], shape: str, is_known: bool) -> None:
    world = make_world(environ={"SOME_TOKEN": CANARY} if is_known else {})
    text = SHAPES[shape]
    world.admit(fetch_descriptor())
    said = f"the network said: {text}"
    world.interfaces.answers = [Refused("fetch-failed", said, {"chain": [text]}) for _ in ARGUMENTS]
    results = [world.call("buoy_get", {name: text}) for name in ARGUMENTS]

    assert [result["refused"] for result in results] == ["fetch-failed"] * len(ARGUMENTS)
    check(world, *results)


def test_a_user_alone_is_no_secret_but_in_a_url(world: World) -> None:
    world.admit(fetch_descriptor())
    world.interfaces.answers = [Refused("bad-url", "it has a user")]

    check(world, world.call("buoy_get", {"url": SHAPES["user alone"]}))


@pytest.mark.parametrize("shape", SHAPES)
def test_no_name_and_no_param_is_written_with_its_secret(canaries: World, shape: str) -> None:
    text = SHAPES[shape]
    params = {"url": text, "path": text}
    tools = [{"name": "buoy_get", "primitive": "http-get", "params": params}]
    canaries.admit(fetch_descriptor(tools=tools))
    canaries.interfaces.answers = [Refused("bad-url", f"{text} is no URL")]

    results = [canaries.call("buoy_get"), canaries.call(text), canaries.call(None, {text: text})]
    results.append(canaries.call("buoy_get", {text: "x"}))
    results.append(canaries.call("buoy_get", {"url": [text]}))
    check(canaries, *results)


def test_no_file_name_is_written_with_its_secret(canaries: World) -> None:
    canaries.admit(clock_descriptor(capabilities=["read"], tools=[{"name": "peek", "primitive": "read-file"}]))
    canaries.interfaces.files[CANARY] = "x"

    check(canaries, canaries.call("peek", {"path": f"{CANARY}.gone"}))
    assert canaries.call("peek", {"path": CANARY})["ok"] is True
    check(canaries)


def test_no_way_that_a_request_took_is_told_with_its_secret(canaries: World) -> None:
    canaries.admit(fetch_descriptor())
    canaries.interfaces.answers = [{"via": ("https://a.test/?token=abc" + CANARY, f"https://a.test/{CANARY}")}]
    canaries.interfaces.network_notes = [f"left out: {CANARY}"]

    check(canaries, canaries.call("buoy_get"))


@pytest.mark.parametrize("level", ["DEBUG", "INFO", "CRITICAL"])
def test_no_log_has_a_secret_at_any_level(canaries: World, level: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(level)
    canaries.admit(fetch_descriptor())
    canaries.call("buoy_get", {"url": f"https://buoys.test/?token={CANARY}"})

    assert "c4nary" not in caplog.text


def test_no_traceback_of_a_defect_has_a_secret(canaries: World, monkeypatch: pytest.MonkeyPatch) -> None:
    canaries.admit(fetch_descriptor())
    canaries.interfaces.answers = [ZeroDivisionError("a mistake of ours")]
    with pytest.raises(ZeroDivisionError) as caught:
        canaries.caller.call("buoy_get", {"content": CANARY}, actor=MODEL)

    assert CANARY not in str(caught.value)
    check(canaries)


def test_what_a_tool_returns_is_handed_on_as_it_is(canaries: World) -> None:
    canaries.admit(clock_descriptor(capabilities=["read"], tools=[{"name": "peek", "primitive": "read-file"}]))
    canaries.interfaces.files["notes.txt"] = f"password={CANARY}"

    assert canaries.call("peek", {"path": "notes.txt"})["content"] == f"password={CANARY}"
    check(canaries)


@pytest.mark.parametrize("plain", ["author=Kim", "keyboard: old", "monkey=wrench", "tokens_used=17", "primary_key=9"])
def test_plain_words_survive(world: World, plain: str) -> None:
    world.admit(clock_descriptor())
    world.call("tide_now", {"content": plain, "url": f"https://a.test/?{plain}"})

    assert world.out.getvalue().count(plain) == 2
