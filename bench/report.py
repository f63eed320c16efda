"""The figures as Markdown, for a terminal and for the README."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench.measure import ENGINES, Measured

__all__ = ["bars", "into_readme", "report"]

README: Final = Path(__file__).with_name("README.md")
_TABLE: Final = re.compile(r"(<!-- table -->\n).*(<!-- end of table -->)", re.DOTALL)


def report(measured: Measured, machine: str) -> str:
    """Everything, as Markdown."""
    return "\n".join((f"{machine}.", "", *_table(measured), "", *_bars(measured), "", *_rest(measured), ""))


def into_readme(text: str) -> None:
    """Puts the report where the one before stands in the README."""
    old = README.read_text(encoding="utf-8")
    README.write_text(_TABLE.sub(lambda found: f"{found[1]}\n{text}\n{found[2]}", old), encoding="utf-8")


def _table(measured: Measured) -> Iterator[str]:
    counts = measured.counts
    yield (
        f"| | answers | parsed, µs | parsed, a second | from bytes, µs | from bytes, a second "
        f"| {counts.more + 14:,} rules, parsed, a second |"
    )
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
    answers = {
        "hand-written decide": "first rule",
        "decide": "first rule",
        "hand-written refusals": "all refusals",
        "admit": "all refusals",
    }
    for name, what in answers.items():
        shown = f"**{name}**" if name in ("decide", "admit") else name
        yield _row(measured, name, shown, what)
    for kind in ENGINES:
        if kind.name in measured.missing:
            yield f"| {kind.name} | {measured.missing[kind.name]} | | | | | |"
            continue
        what = "first rule" if kind.names_rules else "yes or no"
        if measured.shared[kind.name] < 1:
            what += f"; right on {measured.shared[kind.name]:.1%} only, so it does not count"
        yield _row(measured, kind.name, kind.name, f"{what}; Python helps with {kind.helped}")


def _row(measured: Measured, name: str, shown: str, what: str) -> str:
    parsed, from_bytes = measured.contest.micros[name], measured.contest.micros[f"{name}, bytes"]
    many = measured.many.micros.get(name)
    last = measured.missing.get(f"{name}, many rules", "not measured") if many is None else f"{1e6 / many:,.0f}"
    cells = [f"{parsed:.2f}", f"{1e6 / parsed:,.0f}", f"{from_bytes:.2f}", f"{1e6 / from_bytes:,.0f}"]
    return f"| {shown} | {what} | {' | '.join(cells)} | {last} |"


def bars(measured: Measured) -> Iterator[tuple[str, float, float, bool]]:
    """What the gate is held to: in words, the ratio found, the bar, and whether the bar is the least (or the most)."""
    ratio, many = measured.contest.ratio, measured.many.ratio
    yield "decide to hand-written decide", ratio("decide", "hand-written decide"), 1.5, False
    yield "admit to hand-written decide", ratio("admit", "hand-written decide"), 3, False
    yield "admit to hand-written refusals", ratio("admit", "hand-written refusals"), 1.6, False
    for suffix, bar_of in (("", {"decide": 10, "admit": 5}), (", bytes", {"decide": 2.5, "admit": 2.5})):
        fastest = _fastest(measured, suffix)
        for ours, bar in bar_of.items() if fastest else ():
            words = f"{fastest} to {ours}{suffix or ', parsed'}"
            yield words, ratio(f"{fastest}{suffix}", f"{ours}{suffix}"), bar, True
    for ours in ("decide", "admit"):
        words = f"{ours} with {measured.counts.more + 14:,} rules to 14"
        yield words, many(ours, f"{ours}, few rules"), 1.2, False


def _fastest(measured: Measured, suffix: str) -> str | None:
    """The fastest engine that is always right and names the rule, as the gate does."""
    able = [kind.name for kind in ENGINES if kind.names_rules and measured.shared.get(kind.name) == 1]

    return min(able, key=lambda name: measured.contest.micros[f"{name}{suffix}"], default=None)


def _bars(measured: Measured) -> Iterator[str]:
    yield "| ratio (median of the rounds) | found | bar | |"
    yield "| --- | ---: | ---: | --- |"
    for words, found, bar, is_least in bars(measured):
        met = found >= bar if is_least else found <= bar
        sign = "at least" if is_least else "at most"
        yield f"| {words} | {found:.2f} | {sign} {bar:g} | {'met' if met else 'missed'} |"


def _rest(measured: Measured) -> Iterator[str]:
    counts, load = measured.counts, measured.load
    yield "| whole process | processor, ms | wall, ms |"
    yield "| --- | ---: | ---: |"
    for words, cost in (
        ("`python -c pass`", measured.nothing),
        ("`capgate check` of one file", measured.one),
        (f"`capgate check` of {counts.files:,} files", measured.files),
    ):
        yield f"| {words} | {cost.cpu * 1000:,.0f} | {cost.wall * 1000:,.0f} |"
    yield ""
    yield (
        f"Loading the shipped rules takes {load[0] * 1000:,.0f} ms of processor time, with {counts.loaded:,} further "
        f"rules, all with their positions, {load[1] * 1000:,.0f} ms."
    )
