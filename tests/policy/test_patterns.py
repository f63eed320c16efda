"""Patterns: what is taken, who runs it, and that both engines would say the same of every text."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable

import pytest
import re2
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from capgate.policy.patterns import PatternRefused, compile_pattern

BY_RE = [
    *("", "a", "a|b", "ab|cd|", "a?", "a*", "a+", "a+?", "a*?", "a??", "[a-z0-9_]+", "[0-9a-f]{64}", "a{2,5}", "a{3,}"),
    *(
        "[^a]*",
        ".*",
        ".{0,64}",
        "x.*y",
        r"\d+",
        r"\w*",
        r"\D",
        r"\W",
        "(a)",
        "(?:a)",
        "(?P<word>a)",
        "((a)(b))",
        "a{0}",
    ),
    *(
        "^a$",
        "^a+$",
        "(?:a|b)*",
        "(?:a|b)(?:a|b)c*",
        r"\ba",
        r"\.",
        r"\-",
        r"\_",
        r"\/",
        r"\\",
        r"\n\r\t\f\v",
        r"\x41",
        r"\x7f",
        r"\xff",
    ),
    *(
        "{",
        "}",
        "a{",
        "{a}",
        "a{ 2}",
        "a{2",
        "]",
        "-",
        "#",
        " ",
        "&&",
        "é+",
        "😀",
        "[é-ü]",
        "[]a]",
        "[^]a]",
        "[a-]",
        "[-a]",
    ),
    *(r"[\w:.-]+", "[:a]", "[a:]", r"[\]\[]", r"[^\d.]", "[.*+?{}()|$^]", "[(?#x]", "[{,3}]", "a{1000}", "[a-b-c]"),
    *(r"[\x08]", "a{1}b{2}c*", "(?:a|b)c", "(" * 50 + "a" + ")" * 50),
]
BY_RE2 = [
    *(
        "a*b*",
        "a?b?",
        "(a*)*",
        "(?:ab)*",
        "(?:)*",
        "()*",
        "(?:aa|b)*",
        "(?:aa|b)(?:aa|b)",
        "(?:aa|b)c*",
        "a|b$",
        ".*.*",
    ),
    *(r"\s", r"\S+", r"[\s]", r"[^\s]", r"\B", r"\Ba", r"a$\n", "(a$)b", "a$|b", "(a{1,2}){2}"),
    *("a*" + "b" * 65, "a{64,65}b"),
]
REFUSED = {
    **dict.fromkeys(["(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "x(?=y)"], "uses lookaround"),
    **dict.fromkeys(
        [r"(a)\1", r"\Z", r"\z", r"\A", r"\G", r"\R", r"\K", r"\X", r"\C", r"\a", r"\e", r"\0"], "an escape"
    ),
    **dict.fromkeys([r"\1", r"\8", r"\101", r"\u0041", r"\U00000041", r"\N{DIGIT ONE}", r"\p{L}", r"\pL"], "an escape"),
    **dict.fromkeys([r"\Qa\E", r"\x4", r"\x{41}", r"\cA", "\\é", r"\ ", "\\\n", "a\\", r"[\Z]", r"[\1]"], "an escape"),
    **dict.fromkeys(["(?i)a", "(?i:a)", "(?-i:a)", "(?s).", "(?m)^a", "(?x) a", "(?a)a", "(?u)a", "(?L)a"], ""),
    "(?P<a>b)(?P=a)": "uses a back-reference",
    "(a)?(?(1)b|c)": "uses a conditional group",
    "(?>a)": "uses an atomic group",
    **dict.fromkeys(["a++", "a*+", "a?+", "a{2}+"], "uses a possessive repeat"),
    **dict.fromkeys(["(?#x)a", "a(?#x)", "[a](?#x)"], "has a comment"),
    **dict.fromkeys(["(?P<é>a)", "(?P<ａ>a)"], "names a group"),
    **dict.fromkeys(["a{,3}", "a{,}", "(?:a){,1}", "[a]{,2}"], "without its least number"),
    **dict.fromkeys(["[[:alpha:]]", "[a[:digit:]]", "[:alpha:]", "[[:^space:]]"], "has a POSIX class"),
    **dict.fromkeys([r"[\b]", r"[a\b]+"], r"has \b for a backspace"),
    **dict.fromkeys(["a{1001}", "a{1,1001}", "a{1001,}", "(?:ab){2000}"], "more than 1000 times"),
    "(?:(?:){600}){2}": "cannot be read by RE2",
    **dict.fromkeys(["((a{2}){500}){2}", ".*a.{990}.*b.{990}", "(?:ab|cd){501}"], "more than 1000 characters"),
    "(a{100}){100}": "written out",
    **dict.fromkeys(["[[a]", "[a&&b]", "[a--b]", "[a||b]", "[a~~b]"], "cannot be read: Possible"),
    **dict.fromkeys(
        ["(", ")", "[", "[]", "[^]", "(a", "a)", "*", "+a", "a**", "a{2}{2}", "^*", r"\b+"], "cannot be read"
    ),
    **dict.fromkeys(
        ["(?<a>b)", "(?P>a)", "(?'a'b)", "(?|a)", "(?", "(?P", "[z-a]", r"[\d-z]", r"[a-\d]"], "cannot be read"
    ),
    **dict.fromkeys(["(?P<a>b)(?P<a>b)", "(?P<1>a)", "a{3,2}", "a{99999999999}"], "cannot be read"),
    "a" * 1001: "is longer than 1000 characters",
    "(" * 51 + ")" * 51: "nests groups deeper than 50 levels",
    "(" * 500 + ")" * 500: "nests groups deeper than 50 levels",
    **dict.fromkeys(["\ud800", "a\udfff*", "(?:\ud83d\ude00a)*"], "holds half a character"),
}
IN_CI = settings(deadline=None, derandomize=True)


def by_re(pattern: str) -> Callable[[str], object]:
    return re.compile(pattern, re.ASCII).fullmatch


def by_re2(pattern: str) -> Callable[[str], object]:
    options = re2.Options()
    options.log_errors = False
    found: Callable[[str], object] = re2.compile(pattern, options=options).fullmatch
    return found


@pytest.mark.parametrize(("pattern", "simple"), [(p, True) for p in BY_RE] + [(p, False) for p in BY_RE2])
def test_a_shared_pattern_is_taken_and_run_by_one_engine(pattern: str, simple: bool) -> None:
    assert compile_pattern(pattern).linear_by_re is simple
    assert compile_pattern(pattern).text == pattern
    by_re2(pattern)  # RE2 takes all of them


@pytest.mark.parametrize(("pattern", "says"), REFUSED.items(), ids=lambda value: ascii(value)[:200])
def test_a_pattern_that_is_not_shared_is_refused(pattern: str, says: str) -> None:
    with pytest.raises(PatternRefused) as caught:
        compile_pattern(pattern)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("a", "a", True),
        ("a", "a\n", False),
        ("a$", "a\n", False),
        ("^a$", "a\n", False),
        ("(?:ab)*$", "ab\n", False),
        (r"a$\n", "a\n", False),
        (r"a\n", "a\n", True),
        ("a", "ba", False),
        ("a", "ab", False),
        ("a|ab", "ab", True),
        ("(?:a|ab)(?:c|bcd)", "abcd", True),
        ("a*?", "aaa", True),
        ("", "", True),
        ("", "\n", False),
        (".", "\n", False),
        (".", "\r", True),
        (".", "\u2028", True),
        ("[^a]", "\n", True),
        (r"\d", "\u0661", False),
        (r"\d", "7", True),
        (r"\w", "é", False),
        (r"\w", "ſ", False),
        (r"\w", "_", True),
        (r"\D", "é", True),
        (r"\s", "\v", False),  # RE2 alone says so, so RE2 runs every pattern with \s
        (r"\S", "\v", True),
        (r"[\s]", "\v", False),
        (r"[^\s]", "\v", True),
        (r"\v", "\v", True),
        (r"\s", "\u00a0", False),
        *[(r"\s", space, True) for space in " \t\n\r\f"],
        (r"\B", "", True),
        (r"\b", "", False),
        (r"é\ba", "éa", True),
        ("K", "\u212a", False),
        ("😀", "😀", True),
        (".", "😀", True),
        ("..", "😀", False),
        (".*.*", "😀\U0010ffff", True),
        (r"\xe9", "é", True),
        (r"(?:\xe9)*", "éé", True),
        (".", "\ud800", True),
        ("(?:.)(?:.)?", "\ud800", True),
        ("..", "\ud83d\ude00", True),
        ("(?:.|a)(?:.|a)", "\ud83d\ude00", True),
        ("[a-z]*[0-9]*", "\ud800", False),
        ("(?:[^a])*", "\udfff\ud800", True),
        (".", "\x00", True),
        ("(?:.)*", "\x00\x00", True),
    ],
)
def test_a_pattern_matches_the_whole_text_or_not(pattern: str, text: str, expected: bool) -> None:
    assert bool(compile_pattern(pattern).matches(text)) is expected


@pytest.mark.parametrize(
    "pattern",
    [
        *("(a*)*b", "(a+)+b", "(a|a)*b", "(a|aa)+b", "(.*)*x", "(a?){100}a{100}", "a*a*a*a*a*b", "(?:a|aa)" * 40 + "b"),
        *("(?:a?a?)" * 40 + "b", "a*" + "a" * 900 + "b", "a*[ab]{900}c", ".*[^x]{900}c", "(?:a|aa|aaa){60}b"),
        *("^(a*)*$b", "(?:a*|b)*c", "(?:a{1,9}){9}b", "(x+x+)+y", "[ab]*c", "a*?" * 50 + "b", "(?:a|b|ab)*c"),
    ],
)
def test_no_pattern_is_slow_on_any_text(pattern: str) -> None:
    matches = compile_pattern(pattern).matches
    text = "a" * 20_000
    began = time.process_time()
    assert not matches(text)
    assert time.process_time() - began < 5


def test_a_pattern_is_compiled_once() -> None:
    assert compile_pattern("a+b+") is compile_pattern("a+b+")


def test_a_simple_pattern_costs_no_other_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    compile_pattern.cache_clear()
    for pattern in BY_RE:
        compile_pattern(pattern)
    with pytest.raises(ImportError):
        compile_pattern("a*b*")


ATOMS = st.sampled_from(
    [
        *"abé😀.{}-] #&:,/~_\n",
        *(
            r"\d",
            r"\w",
            r"\D",
            r"\W",
            r"\b",
            r"\n",
            r"\v",
            r"\t",
            r"\x85",
            r"\xe9",
            r"\x00",
            r"\.",
            r"\-",
            r"\_",
            r"\\",
        ),
        *("[ab]", "[^a]", r"[\w:]", "[]a]", "[^]a]", "[a-b-c]", "[-a]", "[a-]", r"[^\d.]", r"[a\]b]", r"[\x00-\x1f]"),
        *("[a-z0-9_-]", "[é-ü]", "[.*+?{}()|]", "[$^]", r"[\^a]", "[a^]", "[^^]", "[^-a]", r"[\d-]", r"[-\d]", "[!-~]"),
        *("(?:)", "()", "(?P<x>a)", "[:a]", "[a:]", "[(?#]", "{,2}", "{2}", "a{2", "^", "a{0}"),
    ]
)
ODD_ATOMS = st.sampled_from([r"\s", r"\S", r"[\s]", r"[^\w\s]", r"\B", "$"])
REPEATS = st.sampled_from(["*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{2,}", "{0}", "{0,1}?", "{,2}"])
TEXTS = st.text(alphabet="abcéü😀.-:A1_ \n\v\t\x85\x00\r{}[]\\^$2,Ω\u0661\u2028\ufffd#&", max_size=8)


def patterns(atoms: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            st.lists(inner, min_size=2, max_size=4).map("".join),
            st.lists(inner, min_size=2, max_size=3).map("|".join),
            st.builds("({})".format, inner),
            st.builds("(?:{}){}".format, inner, REPEATS),
            st.builds("{}{}".format, inner, REPEATS),
        ),
        max_leaves=8,
    )


@pytest.mark.long
@settings(parent=IN_CI, max_examples=1500)
@given(pattern=patterns(ATOMS), texts=st.lists(TEXTS, min_size=4, max_size=8))
def test_both_engines_say_the_same_of_every_text(pattern: str, texts: list[str]) -> None:
    try:
        matches = compile_pattern(pattern).matches
    except PatternRefused:
        assume(False)
    for text in texts:
        assert bool(matches(text)) == bool(by_re(pattern)(text)) == bool(by_re2(pattern)(text))


@pytest.mark.long
@settings(parent=IN_CI, max_examples=1000)
@given(pattern=patterns(ATOMS | ODD_ATOMS), texts=st.lists(TEXTS, min_size=4, max_size=8))
def test_where_the_engines_differ_the_other_one_decides(pattern: str, texts: list[str]) -> None:
    r"""With ``\s``, ``\B`` and ``$`` inside, they do; RE2's word is what a pattern means."""
    try:
        matches = compile_pattern(pattern).matches
    except PatternRefused:
        assume(False)
    for text in texts:
        assert bool(matches(text)) == bool(by_re2(pattern)(text))


@settings(parent=IN_CI, max_examples=1500)
@given(pattern=st.text(alphabet=r"ab\(){}[]?*+|^$.,-:<>=!#P1Zsdwuxbné" + "\ud800\n", max_size=20), text=TEXTS)
def test_any_text_is_a_pattern_that_works_or_is_refused(pattern: str, text: str) -> None:
    try:
        found = compile_pattern(pattern)
    except PatternRefused as refused:
        assert str(refused)
    else:
        assert bool(found.matches(text)) == bool(by_re2(pattern)(text))


@pytest.mark.parametrize("text", ["(?:a?){1000}" * 5, "(?:(?:ab|cd){100}){100}", "(?:[a-z]{1000}x?){5}"])
def test_a_pattern_that_is_huge_when_written_out_is_refused(text: str) -> None:
    with pytest.raises(PatternRefused, match="written out"):
        compile_pattern(text)


@pytest.mark.parametrize("text", ["[0-9a-f]{64}", "(?:a?){1000}", ".*a.{900}", "[a-z]{1000}[0-9]{1000}", "(?:ab|cd)*"])
def test_a_pattern_of_ordinary_size_is_taken(text: str) -> None:
    assert compile_pattern(text).text == text
