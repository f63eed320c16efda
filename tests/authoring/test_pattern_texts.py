"""Texts that tell patterns apart: right wherever the automata say so, and said to be few where they are."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capgate
from capgate.policy.authoring.apart import equivalent, telling
from capgate.policy.authoring.automata import Language
from capgate.policy.authoring.samples import variants
from capgate.policy.authoring.text_checks import TextChecks
from capgate.policy.catalog import OperatorTerms
from capgate.policy.conditions import Check, Each, Fact
from capgate.policy.operators import ABSENT
from capgate.policy.patterns import compile_pattern
from capgate.policy.vocabulary import Vocabulary

#: Characters of which every text up to a length is tried.
ALPHABET = "ab0\n"
LENGTH = 4
SHORT = ["".join(marks) for length in range(LENGTH + 1) for marks in product(ALPHABET, repeat=length)]


def pattern(text: str) -> Language:
    return Language("pattern", text)


def joined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Patterns made of patterns: one after another, one or another, repeated."""
    repeats = st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,}", "*?"])
    return st.one_of(
        st.lists(parts, min_size=1, max_size=3).map("".join),
        st.lists(parts, min_size=2, max_size=3).map(lambda some: f"(?:{'|'.join(some)})"),
        st.tuples(parts, repeats).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    )


PLAIN = st.sampled_from(
    ["a", "b", "0", ".", "[ab]", "[^a]", "[a-z]", "[^0-9]", r"\d", r"\D", r"\w", r"\W", r"[\d\D]", r"\n", r"[^\w0]", ""]
)
PATTERNS = st.recursive(PLAIN, joined, max_leaves=6)
#: What only the whole of a text decides; `re` and RE2 agree about it in a text that is not empty.
MARKED = st.lists(st.one_of(PATTERNS, st.sampled_from([r"\b", "^"])), min_size=1, max_size=4).map("".join)


def matches(text: str, value: str) -> bool:
    return re.fullmatch(text, value, re.ASCII) is not None


@given(PATTERNS | MARKED, PATTERNS | MARKED)
@settings(deadline=None, derandomize=True, max_examples=300)
def test_the_texts_bring_out_every_way_to_answer_that_short_texts_have(one: str, other: str) -> None:
    told = telling((pattern(one), pattern(other)), ())
    assert told.whole
    answers = [(matches(one, text), matches(other, text)) for text in told.texts]
    assert len(set(answers)) == len(answers)
    assert {(matches(one, text), matches(other, text)) for text in SHORT} <= set(answers)
    assert equivalent(pattern(one), pattern(other)) is all(first is second for first, second in answers)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (r"[\d\D]*a", r".*[\d\D]*a", True),
        (".*a", r"[\d\D]*a", False),
        ("a|b", "[ab]", True),
        ("a{2,3}", "aa|aaa", True),
        ("(?:a*)*", "a*", True),
        (r"\s", r"[ \t\n\f\r]", True),
        (r"\S", r"[^\s]", True),
        ("^a$", "a", True),
        ("a^b", "[^\\d\\D]", True),
        # Half a character is in no text.
        ("[^\\x00-\ud7ff\ue000-\U0010ffff]", "[^\\d\\D]", True),
        ("a$b", "[^\\d\\D]", True),
        ("a$", "a\n?", False),
        (r"\Ba", "a", False),
        (r"\B", "", True),
        (r"a\b.*", r"a(?:[^\w\n].*)?", True),
        (r"a\B.*", r"a\w.*", True),
        ("[a-c]", "[a-ce]", False),
        ("é", "[^\\x00-\\x7f]", False),
        ("[0-9a-f]{64}", "[0-9a-f]{63}[0-9a-f]", True),
    ],
)
def test_patterns_are_the_same_where_they_match_the_same_texts(one: str, other: str, same: bool) -> None:
    assert equivalent(pattern(one), pattern(other)) is same
    for text in telling((pattern(one), pattern(other)), ()).texts:
        answers = [bool(compile_pattern(each).matches(text)) for each in (one, other)]
        assert not same or answers[0] is answers[1]


@pytest.mark.parametrize(
    ("one", "other", "witness"),
    [
        ("notes/.*", "(?:notes|public)/.*", "public/"),
        ("notes/.*", "(?:notes/.*|etc/passwd)", "etc/passwd"),
        (r"[\d\D]*[Ss]?:", r"[\d\D]*s?:", None),
        (r"[\d\D]*https?:", r"[\D]*https?:", "0http:"),
        ("[Hh]ttp[Ss]?", "[Hh]ttps?", "httpS"),
        ("é", "[éü]", "ü"),
        ("[^a-z]", "[^a-y]", "z"),
        ("\\x00", "[\\x00\\x01]", "\x01"),
    ],
)
def test_the_shortest_text_that_only_one_matches_is_among_them(one: str, other: str, witness: str | None) -> None:
    texts = telling((pattern(one), pattern(other)), ()).texts
    differ = [text for text in texts if matches(one, text) is not matches(other, text)]
    assert differ == ([] if witness is None else [witness])


def test_literals_and_lengths_are_told_apart_together_with_patterns() -> None:
    told = telling((pattern("[a-z]+"),), (Language("texts", ("ab", "AB")), Language("length", 3)))
    assert told.whole
    answers = [(matches("[a-z]+", text), text in ("ab", "AB"), len(text) >= 3) for text in told.texts]
    assert len(answers) == len(set(answers)) == 6
    assert sorted(len(text) for text in told.texts) == [0, 1, 2, 2, 3, 3]


WORDS = ("foo", "bar", "secret", "pass", "http", "exec", "ignore", "prior", "sudo", "sys", "rm", "curl", "wget", "ssh")


def test_of_too_many_patterns_those_that_changed_are_told_apart_and_it_is_said_that_there_is_more() -> None:
    changed = (pattern("[Ii]gnore.*"), pattern("ignore.*"))
    told = telling(changed, tuple(pattern(rf"[\d\D]*{word}[\d\D]*") for word in WORDS))
    assert not told.whole
    assert "Ignore" in told.texts
    assert {(matches("[Ii]gnore.*", text), matches(".*curl.*", text)) for text in told.texts} >= {(False, False)}
    assert {(matches("[Ii]gnore.*", text), matches(".*secret.*", text)) for text in told.texts} >= {(True, True)}


@pytest.mark.parametrize(
    "patterns",
    [
        ["(?:a|b)*a(?:a|b){14}", "(?:a|b)*a(?:a|b){15}"],
        ["(?:a{0,30}){0,30}", "a{0,901}"],
        # The shortest text that both match has 4,288 characters.
        ["(?:a{64})+", "(?:a{67})+"],
        [rf"[\d\D]*{word}[\d\D]*" for word in WORDS],
    ],
)
def test_what_is_too_much_to_be_walked_is_given_up(patterns: list[str]) -> None:
    languages = tuple(map(pattern, patterns))
    assert not telling(languages, ()).whole
    assert not telling((), languages).whole
    assert not equivalent(*languages[:2])


@pytest.mark.parametrize("patterns", [["a{1000}", "a{999}"], ["[a-z]{900}[0-9]{200}", "[a-z0-9]+"]])
def test_texts_are_as_long_as_it_takes(patterns: list[str]) -> None:
    assert telling(tuple(map(pattern, patterns)), ()).whole


def test_a_text_that_is_too_long_is_not_made_and_that_is_said() -> None:
    found = telling((pattern("(?:a{64})+"), pattern("(?:a{67})+")), ())
    assert (found.whole, found.cut) == (False, True)
    assert {len(text) for text in found.texts} == {0, 64, 67}


def test_a_long_text_of_one_pattern_is_met_though_all_together_are_too_much() -> None:
    hard = "(?:a|b)*a(?:a|b){15}"
    found = telling((pattern(hard), pattern("(?:a|b)*b(?:a|b){16}"), pattern("b{700}c")), ())
    assert not found.whole
    assert "b" * 700 + "c" in found.texts


@pytest.mark.parametrize(
    ("text", "some"),
    [
        ("(?:notes|public)/.*", ["notes/", "public/", "otes/", "notes", "ublic/a"]),
        ("[Ss]?:", ["S:", "s:", ":", "a:", "SS:", "S"]),
        ("[b-y0]x", ["bx", "yx", "0x", "ax", "x", "bX"]),
        ("[^b]x", ["ax", "bx", "x"]),
        ("a{2,4}", ["aa", "a", "aaa", "", "aaaa", "aaaaa"]),
        ("(?:ab){2}", ["abab", "ab", "ababab", "bab"]),
        (".x", ["\nx", "ax"]),
        ("[^a]x", ["ax", "bx", "-x"]),
        (r"\bab", ["ab", "b", "AB"]),
        ("abc", ["aBC", "aac", "c"]),
        ("(ab|c)x", ["bx", "cx", "ab", "x"]),
        ("a{1000}", ["a" * 1000, "a" * 999]),
        ("", []),
    ],
)
def test_variants_change_a_place_or_two_of_a_text(text: str, some: list[str]) -> None:
    found = variants(compile_pattern(text))
    assert set(some) <= set(found)
    assert len(found) <= 700


def told(*asked: tuple[Check, Any], host: bool = False) -> tuple[tuple[str, ...], bool]:
    checks = TextChecks()
    for check, operand in asked:
        checks.ask(check, operand, changed=True, host=host)
    return checks.told().texts, checks.told().whole


def check(name: str, operand: Any, added: OperatorTerms | None = None) -> Check:
    return Check(name, operand, (), added)


LETTERS = (check("matches", compile_pattern("[a-z]+")), compile_pattern("[a-z]+"))


@pytest.mark.parametrize(
    ("other", "count"),
    [
        (("equals", "ab"), 3),
        (("equals", 5), 2),
        (("equals", ["ab"]), 2),
        (("in", ["ab", "AB", 7]), 4),
        (("not_in", [7]), 2),
        (("minlength", 2), 4),
        (("maxlength", 2.0), 4),
        (("maxlength", "2"), 2),
        (("empty", True), 3),
        (("type", "string"), 2),
        (("min", 3), 2),
        (("contains", "ab"), 2),
        (("each", Each(())), 2),
        (("equals", ABSENT), 2),
    ],
)
def test_what_operators_ask_of_texts_is_told_apart_whole(other: tuple[str, Any], count: int) -> None:
    texts, whole = told(LETTERS, (check(*other), other[1]))
    assert (len(texts), whole) == (count, True)


def test_without_a_pattern_no_text_is_chosen() -> None:
    assert told((check("equals", "ab"), "ab")) == ((), True)


def facts(path: str) -> Fact:
    return Fact(Vocabulary(capgate.open_gate().catalog).resolve(path, {}))


@pytest.mark.parametrize(
    ("other", "operand"),
    [
        (check("type", "host"), "host"),
        (check("in", ["a" * 3000, "b" * 3000]), ["a" * 3000, "b" * 3000]),
        (check("minlength", 5000), 5000),
        (check("near", "a", OperatorTerms("near", lambda operand: None, lambda value, operand: True)), "a"),
        (check("equals", facts("descriptor.id")), ABSENT),
        (check("in", facts("host.taken")), ["a"]),
        (check("in", facts("catalog.primitives")), facts("catalog.primitives")),
    ],
)
def test_what_is_not_regular_is_sampled_and_not_said_to_be_whole(other: Check, operand: Any) -> None:
    texts, whole = told(LETTERS, (other, operand))
    assert not whole
    assert set(variants(compile_pattern("[a-z]+"))) <= set(texts)


def test_a_fact_that_is_always_the_same_is_as_good_as_a_literal() -> None:
    texts, whole = told(LETTERS, (check("in", facts("catalog.primitives")), ["now", "read-file"]))
    assert whole
    assert "now" in texts


def test_where_hosts_are_asked_some_of_the_texts_are_hosts() -> None:
    pattern = compile_pattern("[a-z.]+[xy]")
    texts, whole = told((check("matches", pattern), pattern), host=True)
    assert not whole
    assert any(re.fullmatch(r"[a-z]+\.[xy]", text) for text in texts)
    assert any(re.fullmatch(r"[a-z]+\.[a-w]", text) for text in texts)
