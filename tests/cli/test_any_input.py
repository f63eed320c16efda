"""Whatever is submitted gets one result, and a report that can be read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capgate import Gate, open_gate
from capgate.host.checking import judge
from capgate.host.cli.render_text import TextReport
from capgate.host.inputs import Source
from capgate.host.safe_json import json_text

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
keys = st.sampled_from(["descriptor", "taken", "placement", "id", "capabilities", "tools", "name"]) | st.text()
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(keys, inner), max_leaves=20)
sources = st.binary() | st.builds(lambda value: json.dumps(value).encode(), values)

#: Controls, and some of what is bidirectional or has no width.
UNSAFE = set(map(chr, [*range(0x20), *range(0x7F, 0xA0), 0xAD, 0x200B, 0x200D, 0x202E, 0x2028, 0x2066, 0xFEFF]))


@pytest.fixture(scope="module")
def gate() -> Gate:
    return open_gate()


@given(data=sources, lines=st.booleans(), taken=st.lists(st.text()))
@settings(deadline=None, derandomize=True, max_examples=300)
def test_any_bytes_get_a_result(gate: Gate, data: bytes, lines: bool, taken: list[str]) -> None:
    result = judge(gate, Source("any.json", data, 7), taken=taken, lines=lines)
    assert result.file == "any.json"
    assert result.decision in ("admitted", "refused", "error")
    assert (result.rule is None) == (result.decision == "admitted")
    assert result.line is None or result.line >= 7
    assert json.loads(json_text(result.to_json())) == result.to_json()
    assert UNSAFE.isdisjoint(TextReport().result(result).replace("\n", ""))


@given(value=values)
@settings(deadline=None, derandomize=True)
def test_json_text_is_one_safe_line_that_reads_back(value: Any) -> None:
    text = json_text(value)
    assert json.loads(text) == value
    assert UNSAFE.isdisjoint(text)


def test_half_a_surrogate_pair_becomes_visible_text() -> None:
    assert json.loads(json_text("odd\udcff.json")) == "odd\\uDCFF.json"
    assert json.loads(json_text("\ud800")) == "\\uD800"
