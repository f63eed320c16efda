"""What only a database can do: be shared by hosts, be away, be another's, and be taken over from files."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from capgate.host.admission.errors import AdmissionError
from capgate.host.admission.host import AdmissionHost
from capgate.host.admission.opening import open_host
from capgate.host.admission.settings import Settings
from capgate.host.admission.sql_store import SqlStore
from capgate.host.mediation.disk import Disk
from capgate.policy.gate import Gate
from commands import Done
from host_samples import HUMAN, MODEL, Clock, clock_descriptor


@pytest.fixture
def settings(tmp_path: Path, database: str) -> Settings:
    return Settings(tmp_path / "w", True, tmp_path / "e", tmp_path / "s", database_url=database)


def opened(url: str, folder: Path) -> SqlStore:
    return SqlStore(url, folder, clock=Clock(), disk=Disk())


@pytest.mark.parametrize(
    "url", ["", "nonsense", "sqlite:///x.db", "mysql://a/b", "postgresql://user:hunter22@127.0.0.1:1/none"]
)
def test_a_database_that_is_not_there_is_named_without_its_password(url: str, tmp_path: Path) -> None:
    with pytest.raises(AdmissionError) as error:
        opened(url, tmp_path)
    assert error.value.id == "store-unavailable"
    assert "hunter22" not in str(error.value)


def test_tables_of_a_newer_capgate_are_left_alone(database: str, tmp_path: Path) -> None:
    opened(database, tmp_path).close()
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE capgate_schema SET version = 99")
    with pytest.raises(AdmissionError, match="version 99"):
        opened(database, tmp_path)


def test_hosts_may_make_the_tables_at_the_same_time(database: str, tmp_path: Path) -> None:
    made: list[int] = []

    def make() -> None:
        store = opened(database, tmp_path)
        made.append(store.ledger().length)
        store.close()

    makers = [threading.Thread(target=make) for _ in range(6)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    assert made == [0] * 6


def test_a_database_that_went_away_is_an_error_and_comes_back(host: AdmissionHost, database: str) -> None:
    host.create(clock_descriptor(), actor=HUMAN)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid()"
        )
    assert list(host.registry.extensions) == ["tide-clock"]


def test_a_turn_that_fails_in_the_database_changed_nothing(host: AdmissionHost, database: str) -> None:
    host.propose(clock_descriptor(), actor=MODEL)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("ALTER TABLE capgate_descriptors RENAME TO elsewhere")
        with pytest.raises(AdmissionError) as error:
            host.admit("tide-clock", confirm=True, actor=HUMAN)
        assert error.value.http_status == 503
        connection.execute("ALTER TABLE elsewhere RENAME TO capgate_descriptors")
        (lines,) = connection.execute("SELECT count(*) FROM capgate_ledger").fetchone() or (None,)
    assert lines == 0
    assert host.registry.extensions == {}
    assert host.admit("tide-clock", confirm=True, actor=HUMAN)["decision"] == "admitted"


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("UPDATE capgate_ledger SET line = replace(line, 'tide-clock', 'tide-clocl') WHERE seq = 1", "hash"),
        ("DELETE FROM capgate_ledger WHERE seq = 1", "follow"),
        ("DELETE FROM capgate_ledger WHERE seq = 2", "follow"),
        ("UPDATE capgate_ledger SET line = (SELECT line FROM capgate_ledger WHERE seq = 2) WHERE seq = 3", "follow"),
    ],
)
def test_a_row_that_was_tampered_with_runs_nothing(
    host: AdmissionHost, database: str, open_another: Callable[[], AdmissionHost], change: str, what: str
) -> None:
    for number, id in enumerate(("tide-clock", "other", "third")):
        host.create(clock_descriptor(id, f"tool_{number}"), actor=HUMAN)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(change.encode())
    other = open_another()
    assert other.registry.extensions == {}
    assert {failure.refused for failure in other.registry.failed.values()} == {"ledger-broken"}
    assert all(what in failure.why for failure in other.registry.failed.values())
    with pytest.raises(AdmissionError) as error:
        other.create(clock_descriptor("fourth", "tool_4"), actor=HUMAN)
    assert error.value.id == "ledger-broken"


def test_an_edited_descriptor_in_the_database_never_runs(
    host: AdmissionHost, database: str, open_another: Callable[[], AdmissionHost]
) -> None:
    host.create(clock_descriptor(), actor=HUMAN)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE capgate_descriptors SET data = convert_to('{\"id\":\"tide-clock\"}', 'UTF8')")
    other = open_another()
    assert other.registry.extensions == {}
    assert other.registry.failed["tide-clock"].refused == "changed-since-admission"


def test_four_hosts_admit_one_extension_once(gate: Gate, settings: Settings) -> None:
    hosts = [open_host(gate, settings, clock=Clock()) for _ in range(4)]
    hosts[0].propose(clock_descriptor(), actor=MODEL)
    answers: list[str] = []
    start = threading.Barrier(16)

    def admit(host: AdmissionHost) -> None:
        start.wait()
        try:
            answers.append(host.admit("tide-clock", confirm=True, actor=HUMAN)["decision"])
        except AdmissionError as error:
            answers.append(error.id)

    threads = [threading.Thread(target=admit, args=(hosts[number % 4],)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == ["admitted", *["already-admitted"] * 15]
    assert hosts[3].registry.ledger.length == 1
    for host in hosts:
        host.close()


@pytest.fixture
def kept_in_files(gate: Gate, tmp_path: Path) -> Settings:
    """The state of a host that kept it in files: something runs, something was revoked, something waits."""
    settings = Settings(tmp_path / "w", True, tmp_path / "e", tmp_path / "s")
    host = open_host(gate, settings, clock=Clock())
    for id in ("tide-clock", "gone"):
        host.create(clock_descriptor(id, id.replace("-", "_")), actor=HUMAN)
    host.revoke("gone", confirm=True, actor=HUMAN)
    host.propose(clock_descriptor("waiting", "later"), actor=MODEL)
    host.propose(clock_descriptor("waiting", "later", description="changed"), actor=MODEL)
    return settings


def test_a_state_in_files_moves_into_an_empty_database(
    kept_in_files: Settings,
    host: AdmissionHost,
    database: str,
    capgate: Callable[..., Done],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CAPGATE_DATABASE_URL", database)
    folders = ("--workspace", kept_in_files.workspace, "--extensions", kept_in_files.extensions)
    done = capgate("database", "import", *folders)
    assert (done.code, done.out) == (0, "Copied 3 lines, 1 descriptors and 3 proposals.\n")
    inventory = host.inventory()
    assert [entry["id"] for entry in inventory["extensions"]] == ["tide-clock"]
    assert {entry["id"]: entry["state"] for entry in inventory["proposals"]} == {
        "gone": "revoked",
        "tide-clock": "admitted",
        "waiting": "pending",
    }
    assert host.registry.failed == {}
    assert host.admit("waiting", confirm=True, actor=HUMAN)["decision"] == "admitted"
    again = capgate("database", "import", *folders)
    assert again.code != 0
    assert "store-not-empty" in again.err


def test_a_broken_ledger_is_not_carried_on(
    kept_in_files: Settings, database: str, capgate: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = kept_in_files.extensions / ".ledger.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b'"seq":2', b'"seq":7'))
    monkeypatch.setenv("CAPGATE_DATABASE_URL", database)
    done = capgate(
        "database", "import", "--workspace", kept_in_files.workspace, "--extensions", kept_in_files.extensions
    )
    assert done.code != 0
    assert "ledger-broken" in done.err


def test_an_import_needs_a_database(capgate: Callable[..., Done], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CAPGATE_DATABASE_URL", raising=False)
    done = capgate("database", "import")
    assert done.code == 2
    assert "CAPGATE_DATABASE_URL" in done.err


def test_the_ledger_in_a_database_is_shown_verified_and_signed(
    host: AdmissionHost, settings: Settings, capgate: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    host.create(clock_descriptor(), actor=HUMAN)
    host.revoke("tide-clock", confirm=True, actor=HUMAN)
    monkeypatch.setenv("CAPGATE_DATABASE_URL", str(settings.database_url))
    folders = ("--extensions", settings.extensions)
    assert capgate("ledger", "verify", *folders).code == 0
    assert "tide-clock" in capgate("ledger", "show", *folders).out
    with psycopg.connect(str(settings.database_url), autocommit=True) as connection:
        connection.execute("UPDATE capgate_ledger SET line = replace(line, 'tide', 'tidy') WHERE seq = 1")
    done = capgate("ledger", "verify", *folders)
    assert done.code != 0
    assert "line 1" in done.out + done.err


def test_many_that_wait_for_their_turn_leave_connections_for_whoever_has_it(host: AdmissionHost) -> None:
    """More of them than there are connections: each turn needs a second one, to read."""
    many = 60
    start = threading.Barrier(many)
    answers: list[str] = []

    def propose(number: int) -> None:
        start.wait()
        try:
            answers.append(host.propose(clock_descriptor(f"clock-{number}"), actor=MODEL)["state"])
        except AdmissionError as error:
            answers.append(error.id)

    threads = [threading.Thread(target=propose, args=(number,)) for number in range(many)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["pending"] * many
