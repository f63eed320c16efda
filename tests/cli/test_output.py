"""``--output``: a file that appears whole or not at all; and standard output that fails."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capgate.host.cli.output import OutputError, open_output

Run = Callable[..., Any]
Write = Callable[..., Path]


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_file_holds_what_standard_output_would(
    form: str, capgate: Run, write: Write, clock: Any, folder: Path
) -> None:
    write("in/bücher.json", clock)
    shown = capgate("check", "in", "--format", form)
    done = capgate("check", "in", "--format", form, "--output", "report")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert (folder / "report").read_text(encoding="utf-8") == shown.out
    assert sorted(path.name for path in folder.iterdir()) == ["in", "report"]


def test_the_exit_code_is_that_of_the_verdicts(capgate: Run, write: Write, launcher: Any) -> None:
    write("x.json", launcher)
    assert capgate("check", "x.json", "--output", "report").code == 1


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("missing/report", "No such file or directory"),
        ("file/report", "Not a directory"),
        ("folder", "Not a regular file"),
        ("/dev/null", "Not a regular file"),
        ("pipe", "Not a regular file"),
        ("", "Not a regular file"),
        ("n" * 300, "File name too long"),
    ],
)
def test_a_target_that_cannot_be_written_is_named_before_anything_is_judged(
    target: str, reason: str, capgate: Run, write: Write, clock: Any, folder: Path
) -> None:
    write("file", clock)
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    before = sorted(folder.iterdir())
    done = capgate("check", "file", "--output", target)
    assert (done.code, done.out) == (2, "")
    assert (
        done.err
        == f"capgate: {target}: output-failed: cannot be written: {reason} ({OutputError.ids['output-failed']})\n"
    )
    assert sorted(folder.iterdir()) == before


def test_a_folder_that_may_not_be_written_is_named(
    capgate: Run, write: Write, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The permission itself would not stop a test that root runs.
    real = os.open

    def open_(path: str, flags: int, *rest: Any, **options: Any) -> int:
        if flags & os.O_CREAT:
            raise PermissionError(13, "Permission denied", path)
        return real(path, flags, *rest, **options)

    write("x.json", clock)
    monkeypatch.setattr(os, "open", open_)
    done = capgate("check", "x.json", "--output", "report")
    assert done.code == 2
    assert "report: output-failed: cannot be written: Permission denied" in done.err


def test_a_write_that_fails_half_way_leaves_the_old_file_alone(
    process: Run, write: Write, launcher: Any, folder: Path
) -> None:
    write("report", "the old one")
    for number in range(100):
        write(f"in/{number}.json", launcher)
    done = process(
        "check", "in", "--output", "report", shell='ulimit -f 8; exec "$@"', env={"PYTHONDONTWRITEBYTECODE": "1"}
    )
    assert done.code == 2
    assert "capgate: report: output-failed: cannot be written: File too large" in done.err
    assert (folder / "report").read_text() == "the old one"
    assert sorted(path.name for path in folder.iterdir()) == ["in", "report"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError(), OutputError("output-failed", "as told")])
def test_whatever_ends_a_run_early_leaves_the_old_file_alone(error: BaseException, write: Write, folder: Path) -> None:
    def run() -> None:
        with open_output("report") as output:
            output.write("half of the new one")
            raise error

    write("report", "the old one")
    with pytest.raises(type(error)):
        run()
    assert (folder / "report").read_text() == "the old one"
    assert [path.name for path in folder.iterdir()] == ["report"]


def test_the_old_file_stays_until_the_new_one_is_whole(write: Write, folder: Path) -> None:
    report = write("report", "the old one")
    with open_output("report") as output:
        output.write("the new ")
        output.write("one")
        output.flush()
        assert report.read_text() == "the old one"
    assert report.read_text() == "the new one"


def test_a_link_is_followed_and_a_mode_is_kept(write: Write, folder: Path) -> None:
    target = write("elsewhere/target", "the old one")
    target.chmod(0o640)
    (folder / "report").symlink_to(target)
    with open_output("report") as output:
        output.write("new")
    assert (folder / "report").is_symlink()
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("new", 0o640)


def test_a_new_file_has_the_usual_mode(folder: Path) -> None:
    old = os.umask(0o027)
    try:
        with open_output("report") as output:
            output.write("new")
    finally:
        os.umask(old)
    assert (folder / "report").stat().st_mode & 0o777 == 0o640


def test_a_wrong_command_line_leaves_the_old_file_alone(capgate: Run, write: Write, folder: Path) -> None:
    write("report", "the old one")
    assert capgate("check", "--placement", "bogus", "--output", "report").code == 2
    assert (folder / "report").read_text() == "the old one"


def test_an_invalid_policy_is_reported_in_the_file_too(
    capgate: Run, write: Write, folder: Path, broken_rules: Path
) -> None:
    write("report", "the old one")
    done = capgate("check", "--rules", broken_rules, "--output", "report")
    assert done.code == 3
    assert (folder / "report").read_text() == done.err


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    ("shell", "reason"),
    [('exec "$@" >/dev/full', "No space left on device"), ('exec "$@" >&-', "standard output is closed")],
)
def test_a_report_that_standard_output_does_not_take_is_never_a_success(
    form: str, shell: str, reason: str, process: Run, write: Write, clock: Any
) -> None:
    write("x.json", clock)
    done = process("check", "--format", form, shell=shell)
    assert done.code == 2
    assert done.err.startswith("capgate: <stdout>: output-failed: ")
    assert reason in done.err
    assert done.err.count("\n") == 1
