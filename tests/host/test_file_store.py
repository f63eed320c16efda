"""The store in files: what it keeps, what it follows, and what it does not take for granted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.file_store import LEDGER, FileStore
from capgate.host.admission.store import Approval, NewEntry, Store
from capgate.host.mediation.disk import Disk
from capgate.policy.documents import digest
from failing import failing
from store_samples import ACTOR, NOON, POLICY, World, odd

CONTENT = b'{"id":"tide"}'


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_it_is_a_store(world: World) -> None:
    store: Store = world.store
    store.close()


def test_nothing_is_made_before_something_is_written(world: World) -> None:
    assert world.store.version() is None
    assert world.store.ledger().length == 0
    assert (world.store.descriptors(), world.store.proposals()) == ([], [])
    assert (world.store.descriptor("tide"), world.store.proposal("tide"), world.store.revisions("tide")) == (
        None,
        None,
        [],
    )
    assert not world.extensions.exists()
    assert not world.workspace.exists()


# The ledger and the descriptors


def test_an_admission_keeps_the_descriptor_and_a_revocation_removes_it(world: World) -> None:
    entry = world.append(content=CONTENT)

    assert world.store.ledger().admitted == {"tide": entry}
    assert world.store.descriptor("tide") == CONTENT
    assert [item.id for item in world.store.descriptors()] == ["tide"]
    assert world.files == ["tide.json"]

    world.append(decision="revoked", descriptor={"id": "tide"})

    assert world.store.ledger().admitted == {}
    assert world.store.descriptor("tide") is None
    assert world.files == []


def test_a_denial_keeps_the_file_that_lies_there(world: World) -> None:
    world.append("ebb")
    (world.extensions / "tide.json").write_bytes(CONTENT)
    world.append(decision="deny")

    assert world.store.descriptor("tide") == CONTENT
    assert world.store.ledger().denied == {"tide": {digest({"id": "tide"})}}


def test_denying_what_runs_and_revoking_it_in_either_order_removes_it(world: World) -> None:
    for first, second in (("deny", "revoked"), ("revoked", "deny")):
        world.append()
        world.append(decision=first)
        world.append(decision=second)

        assert world.store.descriptor("tide") is None
        assert world.store.ledger().admitted == {}
        assert world.files == []


def test_the_ledger_inside_a_turn_has_the_lines_of_that_turn(world: World) -> None:
    with world.store.changing() as change:
        for number in range(3):
            assert change.ledger.length == number
            change.append(NewEntry(f"tide-{number}", "admitted", POLICY, NOON, ACTOR, POLICY, "cli"), b"{}")
        assert list(change.ledger.admitted) == ["tide-0", "tide-1", "tide-2"]


def test_another_store_sees_each_change(world: World) -> None:
    other = world.other()
    versions = [other.version()]
    for decision in ("admitted", "reconfigured", "revoked", "deny"):
        world.append(decision=decision)
        versions.append(other.version())
        assert other.ledger() == world.store.ledger()
    assert len(set(versions)) == 5
    assert other.version() == versions[-1]


def test_only_lines_that_are_new_are_read(tmp_path: Path) -> None:
    class Counting(Disk):
        read_from: list[int] = []

        def pread(self, fd: int, size: int, offset: int) -> bytes:
            self.read_from.append(offset)
            return super().pread(fd, size, offset)

    world = World(tmp_path)
    for number in range(20):
        world.append(f"tide-{number}")
    size = (world.extensions / LEDGER).stat().st_size
    disk = Counting()
    reader = FileStore(world.workspace, world.extensions, disk=disk)
    assert reader.ledger().length == 20
    disk.read_from.clear()
    assert reader.ledger().length == 20
    assert disk.read_from == []
    world.append("new")
    assert reader.ledger().length == 21
    assert min(disk.read_from) > size * 0.9


@pytest.mark.parametrize("change", ["edit in place", "replace", "cut", "remove", "cut and append"])
def test_a_ledger_that_was_changed_is_read_anew(world: World, change: str) -> None:
    for number in range(4):
        world.append(f"tide-{number}")
    path = world.extensions / LEDGER
    lines = path.read_bytes().splitlines(keepends=True)
    before = world.store.version()
    assert world.store.ledger().fault is None

    if change == "edit in place":
        with path.open("r+b") as file:
            file.write(lines[0].replace(b"tide-0", b"tide-x"))
    elif change == "replace":
        new = path.with_name("new")
        new.write_bytes(b"".join(lines[:2]))
        new.rename(path)
    elif change == "cut":
        os.truncate(path, len(lines[0]))
    elif change == "remove":
        path.unlink()
    else:
        os.truncate(path, sum(map(len, lines[:3])))
        FileStore(world.workspace, world.extensions)
        other = World(path.parents[1])
        other.append("longer-than-the-line-that-was-there", of={"id": "x"})

    assert world.store.version() != before
    state = world.store.ledger()
    assert state == world.other().ledger()
    assert (state.length, state.fault is None) == {
        "edit in place": (4, False),
        "replace": (2, True),
        "cut": (1, True),
        "remove": (0, True),
        "cut and append": (4, True),
    }[change]


@pytest.mark.parametrize("rest", [b"half", b"rubbish\n"])
def test_a_torn_end_counts_for_nothing_and_the_next_turn_sets_it_aside(world: World, rest: bytes) -> None:
    world.append()
    with (world.extensions / LEDGER).open("ab") as file:
        file.write(rest)

    for store in (world.store, world.other()):
        assert store.ledger().length == 1
        assert store.ledger().fault is None
    world.append("ebb")

    assert world.other().ledger().length == 2
    assert world.other().ledger().fault is None
    assert len(world.told) == 1
    assert [file.read_bytes() for file in world.extensions.glob(".ledger.jsonl.torn-*")] == [rest]


def test_nothing_is_appended_to_a_broken_ledger_and_nothing_is_moved_on_its_word(world: World) -> None:
    world.append()
    world.append("ebb")
    path = world.extensions / LEDGER
    path.write_bytes(path.read_bytes().replace(b'"id":"tide"', b'"id":"eddy"'))
    staged = world.extensions / ".staged" / f"eddy.{digest({'id': 'tide'})[7:]}.json"
    staged.write_bytes(b"{}")

    for decision in ("admitted", "revoked", "deny"):
        with pytest.raises(AdmissionError) as caught:
            world.append(decision=decision)
        assert caught.value.id == "ledger-broken"
        assert "line 1" in caught.value.message
    assert path.read_bytes().count(b"\n") == 2
    assert staged.exists()
    assert world.store.descriptor("tide") == b'{"id":"tide"}'


def test_the_stamp_of_a_descriptor_changes_with_it(world: World) -> None:
    world.append("ebb")
    stamps = set()
    for content in (CONTENT, b'{"id":"tide","name":"x"}', CONTENT):
        world.append(content=content)
        stamps.add({item.id: item.stamp for item in world.store.descriptors()}["tide"])
    assert len(stamps) == 3
    assert world.store.descriptors() == world.other().descriptors()


@pytest.mark.parametrize("kind", ["folder", "link", "fifo", "too large"])
def test_a_descriptor_that_is_no_plain_file_is_listed_and_unreadable(world: World, kind: str) -> None:
    world.append("ebb")
    odd(world.extensions / "tide.json", kind)

    assert [item.id for item in world.store.descriptors()] == ["ebb", "tide"]
    with pytest.raises(AdmissionError) as caught:
        world.store.descriptor("tide")
    assert caught.value.id == "unreadable"
    assert "tide.json" in caught.value.message


def test_what_is_no_descriptor_by_its_name_is_not_listed(world: World) -> None:
    world.append("ebb")
    for name in (".hidden.json", ".json", "notes.txt", "json", "tide.json.bak"):
        (world.extensions / name).write_bytes(b"{}")

    assert [item.id for item in world.store.descriptors()] == ["ebb"]


@pytest.mark.parametrize("id", ["", ".", "..", "../tide", "a/b", "/etc/passwd", "a\0b", "x" * 300, "\udcff", ".lock"])
def test_an_id_that_no_file_can_have_has_none_and_gets_none(world: World, id: str) -> None:
    world.append("ebb")
    (world.extensions.parent / "tide.json").write_bytes(b"{}")

    assert world.store.descriptor(id) is None
    assert world.store.proposal(id) is None
    assert world.store.revisions(id) == []
    before = world.files
    with world.store.changing() as change:
        with pytest.raises(AdmissionError) as caught:
            change.put_proposal(id, b"{}", revision=True)
        assert caught.value.id == "invalid-id"
        for content, decision in ((b"{}", "admitted"), (None, "revoked")):
            entry = NewEntry(id, decision, POLICY, NOON, ACTOR, POLICY, "cli")  # type: ignore[arg-type]
            with pytest.raises(AdmissionError) as caught:
                change.append(entry, content)
            assert caught.value.id == "invalid-id"
    assert world.files == before
    assert world.store.ledger().length == 1


def test_a_name_that_is_no_text_is_shown_with_escapes_and_unreadable(world: World) -> None:
    world.append("ebb")
    for folder in (world.extensions, world.workspace / "proposals"):
        folder.mkdir(parents=True, exist_ok=True)
        Path(os.fsdecode(os.fsencode(folder) + b"/\xff.json")).write_bytes(b"{}")

    assert [item.id for item in world.store.descriptors()] == ["\\udcff", "ebb"]
    assert world.store.proposals() == ["\\udcff"]
    for read in (world.store.descriptor, world.store.proposal):
        with pytest.raises(AdmissionError) as caught:
            read("\\udcff")
        assert caught.value.id == "unreadable"


def test_what_is_too_large_is_kept_nowhere(world: World) -> None:
    large = b"x" * (1024 * 1024 + 1)
    with world.store.changing() as change:
        with pytest.raises(AdmissionError) as caught:
            change.append(NewEntry("tide", "admitted", POLICY, NOON, ACTOR, POLICY, "cli"), large)
        assert caught.value.id == "body-too-large"
        with pytest.raises(AdmissionError) as caught:
            change.put_proposal("tide", large, revision=True)
        assert caught.value.id == "body-too-large"
    assert world.files == []
    assert world.store.ledger().length == 0


@pytest.mark.parametrize("value", [1e400, float("nan"), 2**60, {1: 2}, "\ud800"])
def test_a_descriptor_that_is_no_json_is_not_appended(world: World, value: Any) -> None:
    with pytest.raises(AdmissionError) as caught:
        world.append(decision="revoked", descriptor={"x": value})
    assert caught.value.id == "bad-descriptor"
    assert world.store.ledger().length == 0


# Approvals


def approval(request: str, **more: Any) -> Approval:
    return Approval(request, "tide", "code", "plan", NOON, **more)


def test_requests_are_kept_in_order_replaced_and_forgotten(world: World) -> None:
    with world.store.changing() as change:
        for request in "abc":
            change.put_approval(approval(request))
    with world.store.changing() as change:
        change.put_approval(approval("a", attempts=2))
        assert change.approvals() == (approval("a", attempts=2), approval("b"), approval("c"))
        change.drop_approvals(["b", "x"])
    with world.store.changing() as change:
        assert [item.request for item in change.approvals()] == ["a", "c"]


def test_requests_are_those_of_one_process(world: World) -> None:
    with world.store.changing() as change:
        change.put_approval(approval("a"))
    with world.other().changing() as change:
        assert change.approvals() == ()


# What the system refuses


ASKED = {
    "ledger": lambda store: store.ledger(),
    "version": lambda store: store.version(),
    "descriptors": lambda store: store.descriptors(),
    "proposals": lambda store: store.proposals(),
    "revisions": lambda store: store.revisions("tide"),
    "proposal": lambda store: store.proposal("tide"),
    "changing": lambda store: store.changing().__enter__(),
}


@pytest.mark.parametrize("asked", ASKED)
def test_a_folder_that_is_none_is_said(tmp_path: Path, asked: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    store = FileStore(tmp_path / "file", tmp_path / "file")

    with pytest.raises(AdmissionError) as caught:
        ASKED[asked](store)
    assert caught.value.id == ("unreadable" if asked == "proposal" else "store-unavailable")


@pytest.mark.parametrize("number", [1, 2])
def test_lines_that_cannot_be_read_are_said(world: World, number: int) -> None:
    world.append()
    store = FileStore(world.workspace, world.extensions, disk=failing(number))

    with pytest.raises(AdmissionError) as caught:
        list(store.lines())
    assert caught.value.id == "store-unavailable"


def test_lines_are_those_of_the_file_and_a_torn_one_has_no_newline(world: World) -> None:
    assert list(world.store.lines()) == []
    world.append()
    world.append(decision="revoked", descriptor={"name": "x" * 3_000_000})
    with (world.extensions / LEDGER).open("ab") as file:
        file.write(b"half")

    lines = list(world.store.lines())
    assert b"".join(lines) == (world.extensions / LEDGER).read_bytes()
    assert [line[-1:] for line in lines] == [b"\n", b"\n", b"f"]
