"""Proposals in a folder that a model can write to: versions, and what is not taken for granted."""

from __future__ import annotations

from pathlib import Path

import pytest

from capgate.host.admission.errors import AdmissionError
from store_samples import World, odd


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def versions(world: World, id: str = "tide") -> list[tuple[int, bytes]]:
    return [(revision.number, revision.data) for revision in world.store.revisions(id)]


def test_versions_of_a_proposal_are_numbered_and_kept(world: World) -> None:
    assert world.propose("tide", b"1") == 1
    assert world.propose("tide", b"2") == 2
    assert world.propose("tide", b"2 refused", revision=False) == 2
    assert world.propose("tide", b"3") == 3
    assert world.propose("ebb", b"1", revision=False) == 1

    assert world.store.proposal("tide") == b"3"
    assert versions(world) == [(1, b"1"), (2, b"2 refused"), (3, b"3")]
    assert versions(world, "ebb") == [(1, b"1")]
    assert world.store.proposals() == ["ebb", "tide"]


def test_a_version_that_says_the_same_as_an_older_one_is_a_version(world: World) -> None:
    for data in (b"a", b"b", b"a"):
        world.propose("tide", data)

    assert versions(world) == [(1, b"a"), (2, b"b"), (3, b"a")]


@pytest.mark.parametrize("kind", ["folder", "link", "fifo", "too large"])
def test_an_odd_proposal_is_listed_unreadable_kept_and_replaced(world: World, kind: str) -> None:
    path = world.workspace / "proposals" / "tide.json"
    odd(path, kind)

    assert world.store.proposals() == ["tide"]
    with pytest.raises(AdmissionError) as caught:
        world.store.proposal("tide")
    assert caught.value.id == "unreadable"
    assert str(path) in caught.value.message
    assert versions(world) == []

    assert world.propose("tide", b"new") == 2
    assert versions(world) == [(2, b"new")]
    assert [file.name for file in (path.parent / ".revisions" / "tide").iterdir()] == ["1.json"]
    assert [file.read_bytes() for file in world.workspace.glob("target")] in ([], [b'{"secret":1}'])


@pytest.mark.parametrize("place", ["proposals", "proposals/.revisions", "proposals/.revisions/tide"])
def test_nothing_is_written_through_a_link(world: World, place: str, tmp_path: Path) -> None:
    world.append()
    if place != "proposals":
        world.propose("tide", b"1")
    outside = tmp_path / "outside"
    outside.mkdir()
    link = world.workspace / place
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside)

    for data in (b"2", b"3"):
        with pytest.raises(AdmissionError) as caught:
            world.propose("tide", data)
        assert caught.value.id == "store-unavailable"
    assert list(outside.iterdir()) == []


def test_a_workspace_that_is_a_link_is_the_operators_choice(world: World, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    world.workspace.symlink_to("real")

    assert world.propose("tide", b"1") == 1
    assert world.store.proposal("tide") == b"1"
    assert (tmp_path / "real" / "proposals" / "tide.json").read_bytes() == b"1"


def test_odd_names_among_the_versions_are_left_alone(world: World) -> None:
    world.propose("tide", b"1")
    world.propose("tide", b"2")
    folder = world.workspace / "proposals" / ".revisions" / "tide"
    for name in ("0.json", "01.json", "x.json", "7", "9" * 30 + ".json", "-1.json"):
        (folder / name).write_bytes(b"odd")

    assert world.propose("tide", b"3") == 3
    assert versions(world) == [(1, b"1"), (2, b"2"), (3, b"3")]
