"""What the operator allows in ``capgate.yaml``, and errors with their place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from capgate.host.calls.machine import network_of
from capgate.host.calls.operator import Operator, read_operator
from capgate.host.mediation.redaction import Redactor
from capgate.plugins.config import Config, read_config
from capgate.policy.errors import PolicyInvalid
from host_samples import Clock


def read(folder: Path, text: str) -> Operator:
    path = folder / "capgate.yaml"
    path.write_text(text, encoding="utf-8")
    return read_operator(read_config(path))


@pytest.mark.parametrize("text", ["{}", "plugins: []", "host: {}"])
def test_nothing_is_allowed_that_is_not_said(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == Operator()
    assert read_operator(None) == read_operator(Config()) == Operator()
    assert Operator() == Operator(frozenset(), frozenset(), (), 1 << 20, None, 16 << 20)


def test_all_of_it_may_be_said(tmp_path: Path) -> None:
    certificates = tmp_path / "own.pem"
    certificates.touch()
    operator = read(
        tmp_path,
        f"""\
host:
  header_variables: [BUOY_KEY, _x9]
  metadata_addresses: ["169.254.169.254", "fd00:ec2::254"]
  nat64_prefixes: ["64:ff9b::/96"]
  most_bytes: 2048
  ca_file: {certificates}
  audit_bytes: 4096
""",
    )
    assert operator == Operator(
        frozenset({"BUOY_KEY", "_x9"}),
        frozenset({"169.254.169.254", "fd00:ec2::254"}),
        ("64:ff9b::/96",),
        2048,
        str(certificates),
        4096,
    )
    settings = network_of(operator._replace(ca_file=None), Clock(), Redactor({})).settings
    assert (settings.variables, settings.max_bytes) == (operator.header_variables, 2048)
    assert (settings.addresses, settings.nat64) == (operator.metadata_addresses, operator.nat64_prefixes)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("host: []", "1:7: config-invalid: $.host: expected a map"),
        ("host: {most: 5}", "1:8: config-invalid: unknown key 'most'; known are header_variables,"),
        ("host: {header_variables: X}", "1:26: config-invalid: $.host.header_variables: expected a list of names"),
        ("host: {header_variables: [$X]}", "1:27: config-invalid: $.host.header_variables[0]: expected names of"),
        ("host: {header_variables: [7]}", "1:27: config-invalid: $.host.header_variables[0]: expected names of"),
        ("host: {metadata_addresses: [localhost]}", "1:29: config-invalid: $.host.metadata_addresses[0]: expected IP"),
        ('host: {metadata_addresses: ["fe80::1%eth0"]}', "$.host.metadata_addresses[0]: expected IP addresses"),
        ('host: {nat64_prefixes: ["64:ff9b::/95"]}', "$.host.nat64_prefixes[0]: expected IPv6 prefixes"),
        ('host: {nat64_prefixes: ["10.0.0.0/8"]}', "$.host.nat64_prefixes[0]: expected IPv6 prefixes"),
        ('host: {nat64_prefixes: ["64:ff9b::1/96"]}', "$.host.nat64_prefixes[0]: expected IPv6 prefixes"),
        ("host: {most_bytes: 0}", "$.host.most_bytes: expected a whole number of bytes from 1 to"),
        ("host: {most_bytes: 1.5}", "$.host.most_bytes: expected a whole number"),
        ("host: {most_bytes: true}", "$.host.most_bytes: expected a whole number"),
        ("host: {most_bytes: 9999999999}", "$.host.most_bytes: expected a whole number"),
        ("host: {audit_bytes: 10}", "$.host.audit_bytes: expected a whole number of bytes from 4096 to"),
        ("host: {ca_file: nowhere.pem}", "$.host.ca_file: expected the absolute path of a file that is there"),
        ("host: {ca_file: /nowhere.pem}", "$.host.ca_file: expected the absolute path"),
        ("host: {ca_file: null}", "$.host.ca_file: expected the absolute path"),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, text: str, error: str) -> None:
    with pytest.raises(PolicyInvalid) as caught:
        read(tmp_path, text)
    (problem,) = caught.value.problems
    assert error in str(problem)


def test_all_mistakes_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(PolicyInvalid) as caught:
        read(tmp_path, "host: {header_variables: [7, X, 8], most_bytes: 0, other: 1}")
    assert len(caught.value.problems) == 4


def test_a_host_does_not_start_with_a_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from capgate.host.admission.settings import Settings
    from capgate.host.calls.opening import open_runtime
    from capgate.host.mediation.console import Console

    (tmp_path / "capgate.yaml").write_text("host: {most_bytes: 0}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CAPGATE_CONFIG", raising=False)
    settings: Any = Settings(tmp_path / "w", True, tmp_path / "e", tmp_path / "s")
    with pytest.raises(PolicyInvalid):
        open_runtime(settings, console=Console())
    (tmp_path / "capgate.yaml").write_text("host: {audit_bytes: 4096}")
    open_runtime(settings, console=Console()).host.close()
