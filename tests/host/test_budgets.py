"""Budgets: exact over threads, processes and hosts; renewed by their window and by nothing else (contract 11.16)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from capgate.host.admission.budget_files import FOLDER
from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.file_store import FileStore
from capgate.host.admission.host import AdmissionHost
from capgate.host.admission.settings import Settings
from capgate.host.mediation.budgets import Account, Budgets, Count, one_more
from capgate.plugins.api import Refused
from failing import QuickDisk, failing
from host_samples import HUMAN, Clock, clock_descriptor, fetch_descriptor

WINDOWS = ("process", "hour", "day", "admission")
HOUR = 3600.0
DAY = 24 * HOUR


def account(window: str = "process", limit: int = 3, id: str = "buoy-feed", since: int = 1) -> Account:
    return Account(id, limit, window, since)


def spend(budgets: Budgets, one: Account, times: int) -> int:
    """How many of so many requests are granted."""
    granted = 0
    for _ in range(times):
        try:
            budgets.charge(one)
        except Refused as refused:
            assert refused.id == "budget-exhausted"
        else:
            granted += 1
    return granted


# Counting


@pytest.mark.parametrize("window", WINDOWS)
def test_requests_are_counted_up_to_the_limit(host: AdmissionHost, clock: Clock, window: str) -> None:
    budgets = Budgets(host, clock)

    assert [budgets.charge(account(window)) for _ in range(3)] == ["1/3", "2/3", "3/3"]
    with pytest.raises(Refused) as caught:
        budgets.charge(account(window))
    assert caught.value.id == "budget-exhausted"
    assert caught.value.why.startswith("3 of 3 requests used; they renew ")
    assert spend(budgets, account(window, id="other"), 5) == 3, "each extension has a budget of its own"


def test_each_window_is_counted_by_itself(host: AdmissionHost, clock: Clock) -> None:
    budgets = Budgets(host, clock)

    assert [spend(budgets, account(window, limit=2), 5) for window in WINDOWS] == [2, 2, 2, 2]


@pytest.mark.parametrize(
    ("window", "before", "after"),
    [("hour", HOUR - 1, HOUR), ("day", DAY - 1, DAY)],
)
def test_a_window_of_time_renews_with_the_next_full_one(
    host: AdmissionHost, clock: Clock, window: str, before: float, after: float
) -> None:
    start = clock.time = 20_000 * DAY
    budgets = Budgets(host, clock)
    assert spend(budgets, account(window), 5) == 3

    clock.time = start + before
    assert spend(budgets, account(window), 5) == 0
    clock.time = start + after
    assert spend(budgets, account(window), 5) == 3


@pytest.mark.parametrize("window", ["hour", "day"])
def test_a_clock_that_is_set_back_gives_nothing_back(host: AdmissionHost, clock: Clock, window: str) -> None:
    budgets = Budgets(host, clock)
    assert spend(budgets, account(window), 5) == 3

    clock.time -= 400 * DAY
    assert spend(budgets, account(window), 5) == 0


@pytest.mark.parametrize("window", WINDOWS)
def test_a_lower_limit_counts_what_was_used_and_a_higher_one_gives_the_rest(
    host: AdmissionHost, clock: Clock, window: str
) -> None:
    budgets = Budgets(host, clock)
    assert spend(budgets, account(window, limit=4), 4) == 4

    with pytest.raises(Refused, match="4 of 2 requests used"):
        budgets.charge(account(window, limit=2))
    assert budgets.charge(account(window, limit=6)) == "5/6"


@pytest.mark.parametrize("window", WINDOWS)
def test_a_limit_of_nothing_grants_nothing(host: AdmissionHost, clock: Clock, window: str) -> None:
    assert spend(Budgets(host, clock), account(window, limit=0), 2) == 0


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ({"maxRequests": 5}, Account("x", 5, "process", 7)),
        ({"maxRequests": 5.0, "window": "day"}, Account("x", 5, "day", 7)),
        ({}, Account("x", 0, "process", 7)),
    ],
)
def test_an_account_is_what_the_bounds_say(bounds: Any, expected: Account) -> None:
    assert Account.of("x", bounds, 7) == expected


def test_one_more_is_counted_in_the_later_of_two_periods() -> None:
    assert one_more(None, 5, 2) == (Count(5, 1), (1, True))
    assert one_more(Count(5, 1), 4, 2) == (Count(5, 2), (2, True))
    assert one_more(Count(5, 2), 4, 2) == (Count(5, 2), (2, False))
    assert one_more(Count(5, 2), 6, 2) == (Count(6, 1), (1, True))


# What renews them, and what does not


def admit(host: AdmissionHost, descriptor: dict[str, Any]) -> None:
    host.propose(descriptor, actor=HUMAN)
    assert host.admit(descriptor["id"], confirm=True, actor=HUMAN)["decision"] == "admitted"


def now_of(host: AdmissionHost) -> Account:
    extension = host.registry.extensions["buoy-feed"]
    return Account.of(extension.id, extension.descriptor["bounds"], extension.entry.since)


def bounds(window: str, requests: int = 3) -> dict[str, Any]:
    return {"hosts": ["buoys.test"], "maxRequests": requests, "window": window}


@pytest.mark.parametrize("window", WINDOWS)
def test_a_reload_and_a_change_of_bounds_give_nothing_back(host: AdmissionHost, clock: Clock, window: str) -> None:
    budgets = Budgets(host, clock)
    admit(host, fetch_descriptor(bounds=bounds(window)))
    assert spend(budgets, now_of(host), 5) == 3

    admit(host, clock_descriptor())
    host.revoke("tide-clock", confirm=True, actor=HUMAN)
    assert spend(budgets, now_of(host), 5) == 0
    host.reconfigure("buoy-feed", {"bounds": {"maxRequests": 4}}, confirm=True, actor=HUMAN)
    assert spend(budgets, now_of(host), 5) == 1


@pytest.mark.parametrize(("window", "renewed"), [("process", 3), ("admission", 3), ("hour", 0), ("day", 0)])
@pytest.mark.parametrize("revoked", [True, False])
def test_an_admission_renews_the_windows_that_it_begins(
    host: AdmissionHost, clock: Clock, window: str, renewed: int, revoked: bool
) -> None:
    budgets = Budgets(host, clock)
    admit(host, fetch_descriptor(bounds=bounds(window)))
    assert spend(budgets, now_of(host), 5) == 3

    if revoked:
        host.revoke("buoy-feed", confirm=True, actor=HUMAN)
    admit(host, fetch_descriptor(bounds=bounds(window), name="Buoy feed, again"))
    assert spend(budgets, now_of(host), 5) == renewed


@pytest.mark.parametrize(("window", "left"), [("process", 3), ("hour", 1), ("day", 1), ("admission", 1)])
def test_hosts_on_one_store_share_what_outlives_a_process(
    host: AdmissionHost, open_another: Callable[[], AdmissionHost], clock: Clock, window: str, left: int
) -> None:
    assert spend(Budgets(host, clock), account(window), 2) == 2

    assert spend(Budgets(open_another(), clock), account(window), 5) == left


# Many at once


@pytest.mark.parametrize("window", WINDOWS)
def test_64_threads_on_a_budget_of_1000_get_1000(
    host: AdmissionHost, clock: Clock, window: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def and_lets_others_go_on(*arguments: Any) -> Any:
        counted = one_more(*arguments)
        os.sched_yield()
        return counted

    monkeypatch.setattr("os.fsync", lambda fd: None)
    monkeypatch.setattr("capgate.host.mediation.budgets.one_more", and_lets_others_go_on)
    budgets = Budgets(host, clock)
    one = account(window, limit=1000)

    with ThreadPoolExecutor(64) as threads:
        granted = sum(threads.map(lambda _: spend(budgets, one, 17), range(64)))

    assert granted == 1000


def test_processes_share_a_budget(settings: Settings, clock: Clock, host: AdmissionHost) -> None:
    code = f"""
import os
os.fsync = lambda fd: None
from pathlib import Path
from capgate.host.admission.opening import open_store
from capgate.host.admission.settings import Settings
from capgate.host.mediation.clock import SystemClock
from capgate.host.mediation.disk import Disk
settings = Settings(Path({str(settings.workspace)!r}), True, Path({str(settings.extensions)!r}), Path("/nowhere"),
                    database_url={settings.database_url!r})
store = open_store(settings, clock=SystemClock(), disk=Disk())
print(sum(store.charge("buoy-feed", "hour", 7, 100).granted for _ in range(60)))
"""
    children = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    granted = [int(child.communicate()[0]) for child in children]

    assert sum(granted) == 100
    assert host.charge("buoy-feed", "hour", 7, 100) == (100, False)


def test_counts_move_into_a_database_with_the_ledger(database: str, tmp_path: Path) -> None:
    from capgate.host.admission.moving import move_to_database
    from capgate.host.admission.sql_store import SqlStore

    extensions = tmp_path / "extensions"
    files = FileStore(tmp_path / "workspace", extensions, disk=QuickDisk())
    files.charge("buoy-feed", "hour", 7, 3)
    files.charge("buoy-feed", "day", 2, 3)
    files.charge("other", "day", 2, 3)
    moved = SqlStore(database, extensions, clock=Clock(), disk=QuickDisk())
    move_to_database(files, moved)

    found = [moved.charge(*asked, 3).used for asked in (("buoy-feed", "hour", 7), ("buoy-feed", "day", 2))]
    assert (found, moved.charge("other", "hour", 7, 3).used) == ([2, 2], 1)
    moved.close()


# Files


@pytest.fixture
def files(tmp_path: Path) -> FileStore:
    return FileStore(tmp_path / "workspace", tmp_path / "extensions", disk=QuickDisk())


def test_the_count_of_an_extension_is_a_file_of_the_host_alone(files: FileStore, tmp_path: Path) -> None:
    files.charge("buoy-feed", "hour", 7, 3)
    files.charge("buoy-feed", "admission", 2, 3)

    path = tmp_path / "extensions" / FOLDER / "buoy-feed.json"
    assert json.loads(path.read_text()) == {"v": 1, "counts": {"hour": [7, 1], "admission": [2, 1]}}
    assert path.stat().st_mode & 0o077 == 0
    assert [stored.id for stored in files.descriptors()] == []


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"v": 2, "counts": {}}',
        '{"v": 1, "counts": {"hour": [7]}}',
        '{"v": 1, "counts": {"hour": [7, -1]}}',
        '{"v": 1, "counts": {"hour": [7, true]}}',
        '{"v": 1, "counts": [7, 1]}',
        " " * 5000,
    ],
)
def test_a_damaged_count_is_never_taken_for_none(files: FileStore, tmp_path: Path, content: str) -> None:
    files.charge("buoy-feed", "hour", 7, 3)
    path = tmp_path / "extensions" / FOLDER / "buoy-feed.json"
    path.write_text(content)

    with pytest.raises(AdmissionError) as caught:
        files.charge("buoy-feed", "hour", 7, 3)
    assert caught.value.id == "store-unavailable"
    assert path.read_text() == content


def test_a_request_that_cannot_be_counted_is_not_granted(tmp_path: Path) -> None:
    """Whichever call of the file system fails: what was granted is counted, and what was counted may not be granted."""
    granted = number = 0
    failed = True
    while failed:
        number += 1
        disk = failing(number)
        store = FileStore(tmp_path / "workspace", tmp_path / "extensions", disk=disk)
        try:
            granted += store.charge("buoy-feed", "hour", 7, 1000).granted
        except AdmissionError as error:
            assert error.id == "store-unavailable"
        else:
            failed = disk.calls >= number
    store = FileStore(tmp_path / "workspace", tmp_path / "extensions", disk=QuickDisk())

    used = store.charge("buoy-feed", "hour", 7, 1000).used - 1
    assert number > 10
    assert granted <= used <= number


def test_what_a_killed_process_was_granted_stays_counted(tmp_path: Path) -> None:
    """Killed before whichever call of the file system: no less is counted than was granted."""
    code = """
import sys
from pathlib import Path
from capgate.host.admission.file_store import FileStore
from failing import dying
disk = dying(int(sys.argv[1]))
store = FileStore(Path(sys.argv[2]) / "workspace", Path(sys.argv[2]) / "extensions", disk=disk)
for _ in range(3):
    assert store.charge("buoy-feed", "hour", 7, 1000).granted
    print("granted", flush=True)
"""
    environ = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    number = killed = 0
    while number == killed:
        number += 1
        folder = tmp_path / str(number)
        arguments = [sys.executable, "-c", code, str(number), str(folder)]
        done = subprocess.run(arguments, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode in (0, -9), done.stderr
        killed += done.returncode == -9
        store = FileStore(folder / "workspace", folder / "extensions", disk=QuickDisk())
        used = store.charge("buoy-feed", "hour", 7, 1000).used - 1
        assert done.stdout.count("granted") <= used <= 3
    assert number > 30


def test_an_id_that_no_file_can_be_named_after_is_an_error(files: FileStore) -> None:
    for id in ("..", "a/b", "a" * 300, "\ud800"):
        with pytest.raises(AdmissionError):
            files.charge(id, "hour", 7, 3)
