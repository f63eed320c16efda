"""Running ``capgate`` inside a test, in its own process."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from capgate.host.cli.main import main

__all__ = ["Done", "runner"]


@dataclass
class Done:
    """A run that ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def results(self) -> list[dict[str, Any]]:
        results: list[dict[str, Any]] = self.json["results"]
        return results


def runner(
    capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, *first: str
) -> Callable[..., Done]:
    """What runs a command; `first` are its first words."""

    def run(*arguments: str | Path, stdin: bytes = b"") -> Done:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main([*first, *(str(argument) for argument in arguments)])
        captured = capsysbinary.readouterr()
        return Done(code, captured.out.decode(), captured.err.decode())

    return run
