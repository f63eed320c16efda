"""``capgate ledger``: what it shows, verifies, vouches for and takes over, and the exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from capgate.host.admission.verification import KINDS
from commands import Done
from host_samples import clock_descriptor

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


@pytest.fixture
def filled(run: Run, tmp_path: Path, ledger: Path) -> list[bytes]:
    """Three extensions admitted, one of them revoked, one denied; returns the lines."""
    for name in ("tide", "ebb", "surf"):
        (tmp_path / "descriptor.json").write_text(json.dumps(clock_descriptor(name, f"{name}_now")))
        assert run("create-extension", "descriptor.json", "--admit").code == 0
    assert run("revoke", "ebb", "--yes").code == 0
    (tmp_path / "descriptor.json").write_text(json.dumps(clock_descriptor("foam", "foam_now")))
    assert run("create-extension", "descriptor.json").code == 0
    assert run("deny", "foam").code == 0
    return ledger.read_bytes().splitlines(keepends=True)


def test_every_command_of_the_group_says_what_it_does(run: Run) -> None:
    assert run("ledger", "--help").code == 0
    for name in ("show", "verify", "checkpoint", "import"):
        assert "exit code" in run("ledger", name, "--help").out


# show


def test_show_tells_who_decided_what_and_what_is_admitted_now(run: Run, filled: list[bytes]) -> None:
    done = run("ledger", "show")

    assert done.code == 0
    rows = done.out.splitlines()
    assert [row.split()[0::2][:2] for row in rows[0:-1:2]] == [
        [str(n), d] for n, d in enumerate(["admitted", "admitted", "admitted", "revoked", "deny"], start=1)
    ]
    assert "human-at-host by cli" in rows[1]
    assert json.loads(filled[0])["digest"] in rows[1]
    assert rows[-1].startswith("5 lines; 2 admitted; head sha256:")


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        ([], [1, 2, 3, 4, 5]),
        (["--last", "2"], [4, 5]),
        (["--id", "ebb"], [2, 4]),
        (["--id", "ebb", "--id", "tide", "--last", "2"], [2, 4]),
        (["--id", "nobody"], []),
    ],
    ids=str,
)
def test_show_takes_a_part(run: Run, filled: list[bytes], options: Sequence[str], numbers: list[int]) -> None:
    done = run("ledger", "show", "--format", "json", *options)

    assert done.code == 0
    assert [line["line"] for line in done.json["lines"]] == numbers
    assert [line["data"] for line in done.json["lines"]] == [json.loads(filled[number - 1]) for number in numbers]
    assert done.json["admitted"] == ["surf", "tide"]
    assert done.json["ledger"]["length"] == 5
    assert done.json["ledger"]["fault"] is None


def test_show_says_first_of_all_that_nothing_counts(run: Run, filled: list[bytes], ledger: Path) -> None:
    ledger.write_bytes(b"".join([filled[0].replace(b"tide", b"t\xc3\xafde"), *filled[1:]]))

    done = run("ledger", "show")

    assert done.code == 1
    assert "NOTHING OF THIS COUNTS: line 1" in done.out
    assert run("ledger", "show", "--format", "json").json["ledger"]["fault"]["line"] == 1


def test_show_does_not_let_a_line_steer_the_terminal(run: Run, ledger: Path) -> None:
    ledger.parent.mkdir()
    ledger.write_bytes(b'{"id":"\\u001b[2J\\u202e","at":"x","decision":"admitted"}\n')

    for command in ("show", "verify", "import"):
        for form in ("text", "json"):
            done = run("ledger", command, "--format", form)
            assert "\x1b" not in done.out
            assert "\u202e" not in done.out


# verify


def test_verify_says_that_the_chain_holds_and_what_it_cannot_see(run: Run, filled: list[bytes]) -> None:
    done = run("ledger", "verify")

    assert done.code == 0
    assert done.out.startswith("The chain holds: 5 lines, 2 admitted, head sha256:")
    assert "Without a checkpoint nobody can see" in done.out


@pytest.mark.parametrize(
    ("tamper", "kind"),
    [
        (lambda lines: [lines[0].replace(b"tide", b"side"), *lines[1:]], "edited"),
        (lambda lines: lines[1:], "deleted"),
        (lambda lines: [*lines[:2], *lines[3:]], "deleted"),
        (lambda lines: [*lines[:3], lines[1], *lines[3:]], "inserted"),
        (lambda lines: [lines[1], lines[0], *lines[2:]], "reordered"),
        (lambda lines: [*lines, *lines[:1]], "inserted"),
    ],
    ids=["edit", "delete the head", "delete in the middle", "insert", "reorder", "repeat"],
)
def test_verify_names_what_was_done(
    run: Run, filled: list[bytes], ledger: Path, tamper: Callable[[list[bytes]], list[bytes]], kind: str
) -> None:
    ledger.write_bytes(b"".join(tamper(filled)))

    done = run("ledger", "verify")
    assert done.code == 1
    assert done.out.startswith(f"{kind}: ")
    assert "THE LEDGER CANNOT BE TRUSTED" in done.out
    report = run("ledger", "verify", "--format", "json").json
    assert report["sound"] is False
    assert report["faults"][0]["kind"] == kind
    assert run("ledger", "checkpoint", "--key", "key").code == 1
    assert not Path("key").exists()


def test_verify_tells_of_torn_lines_before_and_after_they_are_set_aside(
    run: Run, filled: list[bytes], ledger: Path
) -> None:
    ledger.write_bytes(b"".join(filled) + b'{"half')

    done = run("ledger", "verify")
    assert done.code == 0
    assert done.out.startswith("torn: line 6 is torn")
    assert run("revoke", "surf", "--yes").code == 0
    done = run("ledger", "verify")
    assert done.code == 0
    assert "set aside earlier: .ledger.jsonl.torn-" in done.out
    assert "6 lines" in done.out


# checkpoints


def checkpoint(run: Run, name: str = "point.json") -> None:
    assert run("ledger", "checkpoint", "--key", "key", "--output", name).code == 0


def against(run: Run, key: str = "key.pub") -> Done:
    return run("ledger", "verify", "--checkpoint", "point.json", "--key", key, "--format", "json")


def test_a_checkpoint_holds_for_the_same_ledger_and_for_one_that_went_on(run: Run, filled: list[bytes]) -> None:
    done = run("ledger", "checkpoint", "--key", "key")
    assert done.code == 0
    assert "a new key was made" in done.err
    assert json.loads(done.out)["length"] == 5
    checkpoint(run)

    assert against(run).code == 0
    assert run("revoke", "surf", "--yes").code == 0
    assert against(run, "key").code == 0
    done = run("ledger", "verify", "--checkpoint", "point.json", "--key", "key.pub")
    assert "It goes on from the checkpoint of " in done.out
    assert "Without a checkpoint" not in done.out


def empty(lines: list[bytes]) -> list[bytes]:
    return []


@pytest.mark.parametrize(
    ("tamper", "kind"),
    [(lambda lines: lines[:4], "cut"), (lambda lines: lines[:1], "cut"), (empty, "cut")],
    ids=["the last line", "all but the first", "to zero"],
)
def test_a_checkpoint_shows_a_cut_tail_that_the_chain_does_not(
    run: Run, filled: list[bytes], ledger: Path, tamper: Callable[[list[bytes]], list[bytes]], kind: str
) -> None:
    checkpoint(run)
    ledger.write_bytes(b"".join(tamper(filled)))

    assert run("ledger", "verify").code == 0
    done = against(run)
    assert done.code == 1
    assert done.json["sound"] is True
    assert done.json["checkpoint"]["difference"]["kind"] == kind
    assert "cut: the ledger" in run("ledger", "verify", "--checkpoint", "point.json", "--key", "key").out


def test_a_checkpoint_shows_a_swapped_ledger_and_one_that_was_written_anew(
    run: Run, filled: list[bytes], ledger: Path, tmp_path: Path
) -> None:
    checkpoint(run)
    ledger.write_bytes(b"".join(filled[:3]))
    for _ in range(2):
        assert run("revoke", "tide", "--yes").code in (0, 4)
        assert run("deny", "foam").code == 0
    assert against(run).json["checkpoint"]["difference"]["kind"] == "replaced"

    ledger.unlink()
    (tmp_path / "descriptor.json").write_text(json.dumps(clock_descriptor("other", "other_now")))
    assert run("create-extension", "descriptor.json", "--admit").code == 0
    assert run("ledger", "verify").code == 0
    assert against(run).json["checkpoint"]["difference"]["kind"] == "swapped"


def test_a_ledger_that_is_broken_is_held_against_nothing(run: Run, filled: list[bytes], ledger: Path) -> None:
    checkpoint(run)
    ledger.write_bytes(b"".join(filled[1:]))

    done = against(run)
    assert done.code == 1
    assert done.json["checkpoint"]["difference"] is None
    assert done.json["faults"][0]["kind"] == "deleted"


def test_what_cannot_be_used_ends_with_4(run: Run, filled: list[bytes], tmp_path: Path) -> None:
    checkpoint(run)
    (tmp_path / "forged.json").write_text((tmp_path / "point.json").read_text().replace('"length": 5', '"length": 4'))
    (tmp_path / "exposed").write_bytes((tmp_path / "key").read_bytes())

    for arguments, said in (
        (["verify", "--checkpoint", "forged.json", "--key", "key"], "checkpoint-signature"),
        (["verify", "--checkpoint", "missing.json", "--key", "key"], "checkpoint-malformed"),
        (["verify", "--checkpoint", "point.json", "--key", "point.json"], "key-malformed"),
        (["verify", "--checkpoint", "point.json", "--key", "missing"], "key-unreadable"),
        (["checkpoint", "--key", "exposed"], "key-exposed"),
        (["checkpoint", "--key", "no/such/folder"], "key-unwritable"),
    ):
        done = run("ledger", *arguments)
        assert (done.code, done.out) == (4, "")
        assert said in done.err


@pytest.mark.parametrize("option", ["--key", "--checkpoint"])
def test_a_checkpoint_and_its_key_go_together(run: Run, filled: list[bytes], option: str) -> None:
    done = run("ledger", "verify", option, "file")

    assert done.code == 2
    assert "go together" in done.err


@pytest.mark.parametrize("command", ["show", "verify", "checkpoint"])
def test_a_folder_without_a_ledger_is_no_sound_ledger_and_nothing_is_made_there(
    run: Run, command: str, tmp_path: Path
) -> None:
    done = run("ledger", command, "--extensions", "nowhere", *(["--key", "key"] if command == "checkpoint" else []))

    assert done.code == 4
    assert "there is no ledger in" in done.err
    assert list(tmp_path.iterdir()) == []


def test_settings_that_cannot_be_are_a_wrong_command_line(run: Run) -> None:
    assert run("ledger", "show", "--extensions", "workspace/inside").code == 2


# The page

PAGE = Path(__file__).parents[2] / "docs" / "ledger.md"


def by_hand(words: str, *arguments: Path) -> int:
    """Runs the Python of the page that has these words in it, and returns its exit code."""
    found = [block.split("```")[0] for block in PAGE.read_text(encoding="utf-8").split("```python\n")[1:]]
    (script,) = [block for block in found if words in block]
    return subprocess.run([sys.executable, "-c", script, *arguments], check=False, capture_output=True).returncode


def test_the_chain_is_verified_by_the_python_that_the_page_shows(run: Run, filled: list[bytes], ledger: Path) -> None:
    assert by_hand("prev", ledger) == 0
    for tampered in ([*filled[:1], *filled[2:]], [filled[0].replace(b"tide", b"side"), *filled[1:]], filled[1:]):
        ledger.write_bytes(b"".join(tampered))
        assert by_hand("prev", ledger) == 1


def test_a_checkpoint_is_verified_by_the_python_that_the_page_shows(
    run: Run, filled: list[bytes], tmp_path: Path
) -> None:
    checkpoint(run)

    assert by_hand("signature", tmp_path / "point.json", tmp_path / "key.pub") == 0
    point = tmp_path / "point.json"
    point.write_text(point.read_text().replace('"length": 5', '"length": 4'))
    assert by_hand("signature", point, tmp_path / "key.pub") == 1


def test_the_page_has_every_kind_of_fault_and_every_key_of_a_line(filled: list[bytes]) -> None:
    rows = [line.split("`")[1] for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    keys = {key for line in filled for key in json.loads(line)}

    assert {*KINDS, "cut", "replaced", "swapped"} | keys == set(rows)
