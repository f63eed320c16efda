"""``capgate ledger import``: what another system admitted is confirmed, or is not live."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capgate import open_gate
from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.importing import confirm_entry, old_entries
from capgate.host.admission.opening import open_host
from capgate.host.admission.settings import Settings
from capgate.policy.verdict import content_digest
from commands import Done
from host_samples import HUMAN, clock_descriptor, exec_descriptor

Run = Callable[..., Done]


@pytest.fixture
def run(capgate: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in a folder of its own."""
    for name in [name for name in os.environ if name.startswith(("VOICEBOX_", "CAPGATE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return capgate


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "extensions" / ".ledger.jsonl"


def old(*lines: dict[str, Any]) -> bytes:
    return b"".join(json.dumps({"at": "2025-01-01T00:00:00Z"} | line).encode() + b"\n" for line in lines)


@pytest.fixture
def other_system(tmp_path: Path) -> Path:
    """The folder of another system: three admitted, of which one is refused by the gate and one has no file."""
    folder = tmp_path / "old"
    folder.mkdir()
    for descriptor in (clock_descriptor("tide", "tide_now"), exec_descriptor("runner")):
        (folder / f"{descriptor['id']}.json").write_text(json.dumps(descriptor))
    (folder / ".ledger.jsonl").write_bytes(
        old(
            {"id": "tide", "decision": "admitted"},
            {"id": "runner", "decision": "admitted"},
            {"id": "gone", "decision": "admitted"},
            {"id": "ebb", "decision": "admitted"},
            {"id": "ebb", "decision": "revoked"},
        )
    )
    return folder


def running(run: Run) -> list[str]:
    return [entry["id"] for entry in run("inventory", "--format", "json").json["extensions"]]


def test_import_lists_what_was_admitted_with_its_present_digest_and_admits_nothing(
    run: Run, other_system: Path
) -> None:
    done = run("ledger", "import", "old/.ledger.jsonl")

    assert done.code == 0
    digest = content_digest(clock_descriptor("tide", "tide_now"))
    assert f"tide: waits to be confirmed\n  content {digest}\n" in done.out
    assert "runner: the gate would refuse it: exec-absent" in done.out
    assert "gone: cannot be confirmed: there is no descriptor file" in done.out
    assert "ebb" not in done.out
    assert running(run) == []


def test_import_admits_what_is_confirmed_through_the_gate(run: Run, other_system: Path, ledger: Path) -> None:
    assert run("ledger", "import", "old/.ledger.jsonl", "--confirm", "tide").code == 0
    assert running(run) == ["tide"]
    assert json.loads(ledger.read_bytes())["digest"] == content_digest(clock_descriptor("tide", "tide_now"))

    done = run("ledger", "import", "old/.ledger.jsonl", "--confirm", "runner", "--format", "json")
    assert done.code == 1
    answers = {entry["id"]: entry["answer"] for entry in done.json["entries"]}
    assert (answers["tide"], answers["gone"]) == (None, None)
    assert answers["runner"]["rule"] == "exec-absent"
    assert running(run) == ["tide"]


def test_import_says_why_what_has_no_file_is_not_admitted(run: Run, other_system: Path) -> None:
    (other_system / "gone.json").mkdir()

    done = run("ledger", "import", "old/.ledger.jsonl", "--confirm", "gone")

    assert done.code == 1
    assert "gone: NOT admitted: unreadable: " in done.out
    assert "Not a regular file" in done.out


def test_import_into_a_broken_ledger_ends_at_once(run: Run, other_system: Path, ledger: Path) -> None:
    assert run("ledger", "import", "old/.ledger.jsonl", "--confirm", "tide").code == 0
    ledger.write_bytes(ledger.read_bytes().replace(b"tide", b"side") + b"{}\n")
    (other_system / "tide.json").write_text(json.dumps(clock_descriptor("tide", "tide_then")))

    done = run("ledger", "import", "old/.ledger.jsonl", "--confirm", "tide")

    assert done.code == 5
    assert "ledger-broken" in done.err


def test_import_of_all_admits_what_can_be_and_says_what_cannot(run: Run, other_system: Path, ledger: Path) -> None:
    done = run("ledger", "import", "old/.ledger.jsonl", "--all")

    assert done.code == 1
    assert "tide: admitted now" in done.out
    assert "runner: NOT admitted: exec-absent" in done.out
    assert "gone: cannot be confirmed" in done.out
    assert running(run) == ["tide"]
    (other_system / "runner.json").unlink()
    assert run("ledger", "import", "old/.ledger.jsonl", "--all").code == 0
    assert "tide: admitted here already" in run("ledger", "import", "old/.ledger.jsonl").out
    assert ledger.read_bytes().count(b"\n") == 1


def test_import_takes_the_hosts_own_ledger_where_none_is_named(
    run: Run, other_system: Path, ledger: Path, tmp_path: Path
) -> None:
    other_system.rename(tmp_path / "extensions")
    assert running(run) == []
    before = ledger.read_bytes()

    assert run("ledger", "import", "--confirm", "tide").code == 0

    assert running(run) == ["tide"]
    assert ledger.read_bytes().startswith(before)
    assert ledger.read_bytes().count(b"\n") == 6
    assert run("ledger", "verify").code == 0
    assert "tide" not in run("ledger", "import").out
    ledger.write_bytes(ledger.read_bytes().replace(b'"gone"', b'"come"'))
    assert run("ledger", "verify").code == 1


def test_import_admits_the_file_and_not_what_is_proposed_under_its_id(
    run: Run, other_system: Path, tmp_path: Path
) -> None:
    (tmp_path / "descriptor.json").write_text(json.dumps(clock_descriptor("tide", "quite_another")))
    assert run("propose", "descriptor.json").code == 0

    assert run("ledger", "import", "old/.ledger.jsonl", "--confirm", "tide").code == 0

    tools = [entry["tools"] for entry in run("inventory", "--format", "json").json["extensions"]]
    assert tools == [["tide_now"]]


def test_import_does_not_admit_what_the_host_denied(run: Run, other_system: Path, tmp_path: Path) -> None:
    assert run("propose", "old/tide.json").code == 0
    assert run("deny", "tide").code == 0

    done = run("ledger", "import", "old/.ledger.jsonl", "--confirm", "tide")

    assert done.code == 1
    assert "NOT admitted: host-deny" in done.out
    assert running(run) == []


def test_import_does_not_admit_what_changed_after_it_was_listed(run: Run, other_system: Path, tmp_path: Path) -> None:
    host = open_host(open_gate(), Settings.from_environment({}))
    old_ledger = other_system / ".ledger.jsonl"
    (entry,) = [entry for entry in old_entries(host, old_ledger) if entry.id == "tide"]
    (other_system / "tide.json").write_text(json.dumps(clock_descriptor("tide", "quite_another")))

    with pytest.raises(AdmissionError) as caught:
        confirm_entry(host, old_ledger, entry, actor=HUMAN, method="cli")
    assert caught.value.id == "plan-changed"
    assert running(run) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.jsonl"], "there is no file"),
        ([], "there is no file"),
        (["old/.ledger.jsonl", "--confirm", "nobody"], "no entry 'nobody'"),
        (["old/.ledger.jsonl", "--confirm", "ebb"], "no entry 'ebb'"),
    ],
    ids=str,
)
def test_import_of_what_is_not_there_ends_with_4(run: Run, other_system: Path, arguments: list[str], said: str) -> None:
    done = run("ledger", "import", *arguments)

    assert done.code == 4
    assert said in done.err
