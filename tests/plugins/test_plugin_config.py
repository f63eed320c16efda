"""The config file: what it may say, and errors with their place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from capgate.plugins.config import Config, Pin, read_config
from capgate.plugins.manager import load
from capgate.policy.errors import PolicyInvalid, Span

DIGEST = "sha256:" + "0a" * 32


def problems(text: str, folder: Path) -> list[str]:
    path = folder / "capgate.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PolicyInvalid) as caught:
        read_config(path)
    return [str(problem).replace(f"{folder}/", "") for problem in caught.value.problems]


def test_a_pin_says_name_version_digest_deadline_and_config(tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    path.write_text(
        f"""\
plugins:
  - name: capgate-tides
    version: "==1.2"
    digest: {DIGEST}
    deadline: 2
    config: {{station: harbour}}
  - name: Capgate_Moon
"""
    )
    tides, moon = read_config(path).plugins
    assert tides == Pin("capgate-tides", "==1.2", DIGEST, 2.0, {"station": "harbour"}, Span(str(path), 2, 11))
    assert moon == Pin("Capgate_Moon", span=Span(str(path), 7, 11))
    assert moon.key == "capgate-moon"


@pytest.mark.parametrize("text", ["{}", "plugins: []"])
def test_a_config_may_name_no_plugin(tmp_path: Path, text: str) -> None:
    (tmp_path / "capgate.yaml").write_text(text)
    assert read_config(tmp_path / "capgate.yaml") == Config()


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("5", "capgate.yaml:1:1: config-invalid: expected a map with the key 'plugins'"),
        ("plugin: []", "capgate.yaml:1:1: config-invalid: unknown key 'plugin'; known are plugins"),
        ("plugins: x", "capgate.yaml:1:10: config-invalid: $.plugins: expected a list"),
        ("plugins:", "capgate.yaml:1:9: config-invalid: $.plugins: expected a list"),
        ("plugins:\n  - x", "capgate.yaml:2:5: config-invalid: $.plugins[0]: expected a map with the key 'name'"),
        ("plugins:\n  - {}", "capgate.yaml:2:5: config-invalid: $.plugins[0]: the key 'name' is missing"),
        ("plugins: [{nam: a, name: a}]", "capgate.yaml:1:12: config-invalid: unknown key 'nam'; known are name,"),
        ("plugins: [{name: 5}]", "capgate.yaml:1:18: config-invalid: $.plugins[0].name: expected a distribution's"),
        ("plugins: [{name: ../a}]", "capgate.yaml:1:18: config-invalid: $.plugins[0].name: expected a distribution's"),
        ("plugins: [{name: ''}]", "capgate.yaml:1:18: config-invalid: $.plugins[0].name: expected a distribution's"),
        ("plugins: [{name: a, version: 1.2}]", "$.plugins[0].version: expected a quoted specifier such as '==1.2'"),
        ("plugins: [{name: a, version: '1.2'}]", "$.plugins[0].version: '1.2' is no specifier such as '==1.2'"),
        ("plugins: [{name: a, digest: sha256:0}]", "$.plugins[0].digest: expected 'sha256:' and 64 lower-case hex"),
        ("plugins: [{name: a, digest: null}]", "$.plugins[0].digest: expected 'sha256:' and 64 lower-case hex"),
        ("plugins: [{name: a, deadline: 0}]", "$.plugins[0].deadline: expected seconds, more than 0"),
        ("plugins: [{name: a, deadline: true}]", "$.plugins[0].deadline: expected seconds, more than 0"),
        ("plugins: [{name: a, deadline: 99999}]", "$.plugins[0].deadline: expected seconds, more than 0"),
        ("plugins: [{name: a, config: []}]", "$.plugins[0].config: expected a map"),
        ("plugins: [{name: a_b}, {name: A-b}]", "capgate.yaml:1:31: config-invalid: $.plugins[1].name: 'A-b' is named"),
        ("plugins: [", "capgate.yaml:1:"),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, text: str, error: str) -> None:
    (found,) = problems(text, tmp_path)
    assert error in found


def test_every_mistake_is_reported(tmp_path: Path) -> None:
    found = problems("plugins:\n  - {name: 5, deadline: x}\n  - 7\nplugin: 1\n", tmp_path)
    assert [line.split(": ")[0] for line in found] == [
        "capgate.yaml:4:1",
        "capgate.yaml:2:12",
        "capgate.yaml:2:25",
        "capgate.yaml:3:5",
    ]


@pytest.mark.parametrize("name", ["missing.yaml", ".", "a\0b"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(PolicyInvalid) as caught:
        read_config(f"{tmp_path}/{name}")
    (found,) = caught.value.problems
    assert found.id == "config-unreadable"
    assert found.span == Span(f"{tmp_path}/{name}")


def test_the_config_is_looked_for_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CAPGATE_CONFIG", raising=False)
    assert load().listing
    (tmp_path / "capgate.yaml").write_text("plugins: 5")
    with pytest.raises(PolicyInvalid, match=r"capgate\.yaml:1:10"):
        load()


def test_a_link_that_leads_nowhere_is_not_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CAPGATE_CONFIG", raising=False)
    (tmp_path / "capgate.yaml").symlink_to("gone.yaml")
    with pytest.raises(PolicyInvalid, match="config-unreadable"):
        load()


def test_the_environment_names_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "capgate.yaml").write_text("plugins: 5")
    (tmp_path / "other.yaml").write_text("plugins: []")
    monkeypatch.setenv("CAPGATE_CONFIG", "other.yaml")
    assert load().listing
    monkeypatch.setenv("CAPGATE_CONFIG", "missing.yaml")
    with pytest.raises(PolicyInvalid, match="config-unreadable"):
        load()


def test_an_empty_config_reads_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAPGATE_CONFIG", str(tmp_path / "missing.yaml"))
    assert load(config=Config()).listing


def test_a_config_that_is_no_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    for path in (tmp_path / "pipe.yaml", Path("/dev/zero"), tmp_path):
        with pytest.raises(PolicyInvalid, match="config-unreadable"):
            read_config(path)


def test_a_config_of_any_size_is_read_no_further_than_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "capgate.yaml"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(PolicyInvalid, match="document-too-large"):
        read_config(path)
