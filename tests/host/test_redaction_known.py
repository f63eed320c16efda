"""Redaction of secrets that are known: from the environment, or learnt; in every encoding that is printed."""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Callable, Iterator
from threading import Thread
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capgate.host.mediation.redaction import MASK, Redactor
from capgate.host.safe_json import json_text
from capgate.policy.text import escape

#: With everything that some encoding spells in another way.
CANARY = 'c4n/ar+y "ü\\☃\U0001f511=%41&\u200b'


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def urlsafe(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


def all_unicode(text: str) -> str:
    data = text.encode("utf-16-be").hex()
    return "".join(f"\\u{data[i : i + 4]}" for i in range(0, len(data), 4))


M = MASK
#: More than twenty ways in which a secret gets into a text, and what is left of each.
SPELLINGS: dict[str, tuple[Callable[[str], str], str]] = {
    "as it is": (lambda secret: secret, M),
    "glued": (lambda secret: f"x{secret}y", f"x{M}y"),
    "in a URL": (lambda secret: f"https://h/{quote(secret, safe='')}/x", f"https://h/{M}/x"),
    "quoted but for slashes": (quote, M),
    "quoted with plus": (quote_plus, M),
    "quoted in small letters": (lambda secret: re.sub("%..", lambda m: m[0].lower(), quote(secret)), M),
    "all percent": (lambda secret: "".join(f"%{byte:02x}" for byte in secret.encode()), M),
    "quoted twice": (lambda secret: quote(quote(secret, safe=""), safe=""), M),
    "JSON": (json.dumps, f'"{M}"'),
    "JSON without ASCII": (lambda secret: json.dumps(secret, ensure_ascii=False), f'"{M}"'),
    "JSON as capgate writes it": (json_text, f'"{M}"'),
    "JSON in JSON": (lambda secret: json.dumps(json.dumps({"a": secret})), f'"{{\\"a\\": \\"{M}\\"}}"'),
    "JSON in JSON in JSON": (
        lambda secret: json.dumps(json.dumps(json.dumps(secret))),
        f'"\\"\\\\\\"{M}\\\\\\"\\""',
    ),
    "JSON all escaped": (all_unicode, M),
    "a URL in JSON": (lambda secret: json.dumps({"u": f"//h/{quote(secret)}"}), f'{{"u": "//h/{M}"}}'),
    "JSON in a URL": (lambda secret: quote(json.dumps({"u": secret})), f"%7B%22u%22%3A%20%22{M}%22%7D"),
    "a URL in JSON in JSON": (
        lambda secret: json.dumps(json.dumps({"u": f"//h/{quote(secret)}"})),
        f'"{{\\"u\\": \\"//h/{M}\\"}}"',
    ),
    "as Python shows it": (ascii, f"'{M}'"),
    "as the console shows it": (escape, M),
    "base64": (b64, f"{M}=="),
    "base64 for URLs": (urlsafe, f"{M}=="),
    "base64 after one byte": (lambda secret: b64("u" + secret), f"d{M}="),
    "base64 between others": (lambda secret: b64("u:" + secret + "!"), f"dT{M}IQ=="),
    "base64 for URLs after others": (lambda secret: urlsafe("abc" + secret), f"YWJj{M}=="),
    "base64 without padding": (lambda secret: b64(secret).rstrip("="), M),
    "base64 quoted": (lambda secret: quote(b64(secret), safe=""), f"{M}%3D%3D"),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("source", ["environment", "extra", "learnt"])
def test_a_known_secret_is_masked_however_it_is_spelt(spelling: str, source: str) -> None:
    redactor = Redactor({"MY_TOKEN": CANARY} if source == "environment" else {}, [CANARY] if source == "extra" else ())
    if source == "learnt":
        redactor.learn(CANARY)
    spell, left = SPELLINGS[spelling]

    assert redactor.text(f"before {spell(CANARY)} after") == f"before {left} after"


@settings(deadline=None, derandomize=True, max_examples=300)
@given(secret=st.text(min_size=6, max_size=40), spelling=st.sampled_from(sorted(SPELLINGS)))
def test_any_secret_is_masked_in_any_spelling(secret: str, spelling: str) -> None:
    # Secrets such as 000000 are part of what the spelling puts around them.
    secret = f"Zq{secret}7x"
    spelt = SPELLINGS[spelling][0](secret)
    text = Redactor({}, [secret]).text(f"before {spelt} after")

    assert MASK in text
    assert spelt.strip("\"'") not in text


@pytest.mark.parametrize(
    "name", ["GEMINI_API_KEY", "VOICEBOX_HOST_TOKEN", "db_password", "OTLP_HEADERS", "X_SIGNATURE", "HTTP_AUTH"]
)
def test_values_of_secret_variables_are_masked(name: str) -> None:
    assert Redactor({name: "abcdef"}).text("xabcdefx") == f"x{MASK}x"


def test_values_of_other_variables_are_not() -> None:
    redactor = Redactor({"HOME": "/home/jane", "GIT_AUTHOR_NAME": "Jane Doe", "SHORT_KEY": "abcde", "A_KEY": ""})

    assert redactor.text("/home/jane Jane Doe abcde") == "/home/jane Jane Doe abcde"


def test_the_environment_is_asked_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "c4nary-value")

    assert Redactor().text("c4nary-value") == MASK


def test_a_value_is_known_without_the_space_around_it() -> None:
    assert Redactor({"A_TOKEN": "  abcdefg\n"}).text("<abcdefg>") == f"<{MASK}>"


def test_a_backslash_of_a_secret_is_no_escape_where_others_are() -> None:
    secret = "pa\\nth\u200bx"

    assert Redactor({}, [secret]).text(f"<{escape(secret)}>") == f"<{MASK}>"


def test_where_secrets_overlap_all_of_them_is_masked() -> None:
    redactor = Redactor({}, ["abcdef", "cdefghij", "abcdefghijkl"])

    assert redactor.text("-abcdefghij-abcdefghijkl-abcdef-") == f"-{MASK}-{MASK}-{MASK}-"


def test_a_secret_that_overlaps_itself_is_masked_to_its_end() -> None:
    assert Redactor({}, ["ababab"]).text("xababababax") == f"x{MASK}ax"


def test_numbers_that_are_secrets_are_masked_in_data() -> None:
    assert Redactor({}, ["12345678"]).value({"n": 12345678, "m": 1234567, "b": True}) == {
        "n": MASK,
        "m": 1234567,
        "b": True,
    }


def test_what_is_no_json_is_masked_as_text() -> None:
    assert Redactor({}, ["abcdef"]).value([b"abcdef"]) == [f"b'{MASK}'"]


def test_a_secret_can_be_forgotten() -> None:
    redactor = Redactor({}, ["abcdef", "ghijkl"])
    redactor.forget("abcdef")
    redactor.forget("abcdef")

    assert redactor.text("abcdef ghijkl") == f"abcdef {MASK}"


@pytest.fixture
def often_switching() -> Iterator[None]:
    """Threads that take turns every few steps."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("often_switching")
def test_nothing_is_lost_where_some_learn_and_others_forget() -> None:
    redactor = Redactor({})
    secrets = [f"secret-{n:04}" for n in range(400)]

    def learn(part: list[str]) -> None:
        for secret in part:
            redactor.learn(secret)

    def forget() -> None:
        for _ in range(200):
            redactor.forget("what nobody learnt")

    threads = [Thread(target=learn, args=(secrets[n::4],)) for n in range(4)] + [Thread(target=forget)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert redactor.text(" ".join(secrets)) == " ".join([MASK] * 400)


def test_no_secret_shows_in_the_redactor_itself() -> None:
    assert "abcdef" not in repr(Redactor({}, ["abcdef"]))


def test_data_of_any_kind_is_masked() -> None:
    value: Any = {"abcdef": ["abcdef", {"x": "https://h/abcdef?q=1"}], "n": None}

    assert Redactor({}, ["abcdef"]).value(value) == {MASK: [MASK, {"x": f"https://h/{MASK}?q=1"}], "n": None}
