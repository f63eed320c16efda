"""Version specifiers: the part of PEP 440 that is supported, as a table."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capgate.plugins.versions import allows, base


@pytest.mark.parametrize(
    ("specifier", "version", "answer"),
    [
        ("==1.2", "1.2", True),
        ("==1.2", "1.2.0", True),
        ("== 1.2", "1.2", True),
        ("==1.2", "1.2.1", False),
        ("==1.2", "1.2rc1", False),
        ("==1.2", "1.2+local.1", True),
        ("==1.2", "v1.2", True),
        ("==1.2.*", "1.2.9", True),
        ("==1.2.*", "1.3", False),
        ("==1.2.*", "1", False),
        ("==1.0.*", "1", True),
        ("!=1.2", "1.3", True),
        ("!=1.2", "1.2", False),
        ("!=1.2.*", "1.2.9", False),
        ("!=1.2.*", "1.3", True),
        ("~=1.2", "1.9", True),
        ("~=1.2", "1.1", False),
        ("~=1.2", "2.0", False),
        ("~=1.2.3", "1.2.9", True),
        ("~=1.2.3", "1.3", False),
        (">=0.1,<0.2", "0.1.7", True),
        (">=0.1,<0.2", "0.2", False),
        (">=0.1,<0.2", "0.2rc1", False),
        ("<0.2rc2", "0.2rc1", True),
        ("<=1.0", "1.0", True),
        ("<=1.0", "1.1", False),
        (">=1.0", "1.0.dev3", False),
        (">=1.0", "1.0.post1", True),
        (">1.0", "1.0", False),
        (">1.0", "1.0.post1", False),
        (">1.0", "1.0-1", False),
        (">1.0", "1.1", True),
        (">1.0a1", "1.0b1", True),
        (">1.0.dev1", "1.0a1", True),
        ("==1.0.post1", "1.0-1", True),
        ("==1.0.post1.dev2", "1.0.post1.dev2", True),
        ("1.2", "1.2", None),
        ("", "1.2", None),
        (">=0.1,", "1.2", None),
        ("=>1", "1.2", None),
        ("==one", "1.2", None),
        ("==1.*.*", "1.2", None),
        (">=1.*", "1.2", None),
        ("~=1", "1.2", None),
        ("~=1.2.*", "1.2", None),
        ("==1.2", "latest", None),
    ],
)
def test_a_specifier_allows(specifier: str, version: str, answer: bool | None) -> None:
    assert allows(specifier, version) is answer


def test_order_of_the_phases_of_a_release() -> None:
    order = ["1.0.dev1", "1.0a1.dev1", "1.0a1", "1.0b2", "1.0rc1", "1.0", "1.0.post1.dev1", "1.0.post1", "1.1"]
    for earlier, later in pairwise(order):
        assert allows(f">={earlier}", later)
        assert not allows(f">={later}", earlier)


@pytest.mark.parametrize(("version", "release"), [("0.1.0.dev3", "0.1.0"), ("1.2rc1+x", "1.2"), ("odd", "odd")])
def test_the_base_of_a_version(version: str, release: str) -> None:
    assert base(version) == release


@settings(deadline=None, derandomize=True)
@given(st.text(), st.text())
def test_no_text_raises(specifier: str, version: str) -> None:
    assert allows(specifier, version) in (True, False, None)
