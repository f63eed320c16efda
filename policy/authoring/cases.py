"""Case files: tests of rules that stand beside them, in the folder ``tests``.

A test that is silently not run is worse than none, so the folder is read as strictly as rules are: a
YAML file that would not be run, an unknown key, or a case that expects nothing is a problem.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any

from capgate.policy.authoring.given import read_given
from capgate.policy.authoring.trials import Trial, TrialError
from capgate.policy.catalog import Catalog
from capgate.policy.documents import Document, DocumentError, load_json, load_yaml
from capgate.policy.documents.source import MAX_BYTES
from capgate.policy.errors import Span
from capgate.policy.paths import ROOT, Path
from capgate.policy.rule_errors import Problems, did_you_mean
from capgate.policy.rulefile import check_shape

__all__ = ["TESTS", "load_cases", "read_cases"]

#: The folder of case files, in a folder of rules.
TESTS = "tests"


def load_cases(folder: FilePath, catalog: Catalog, problems: Problems) -> Iterator[Trial]:
    """The cases that belong to a folder of rules, by file name; what is wrong with them goes to `problems`."""
    tests = folder / TESTS
    if tests.is_dir():
        for file in _files(tests, problems):
            source = _read(str(file), Span(str(file)), problems)
            if source is not None:
                yield from read_cases(source, str(file), catalog, problems)


def read_cases(source: bytes, name: str, catalog: Catalog, problems: Problems) -> Iterator[Trial]:
    """The cases of one file; what is wrong with it goes to `problems`, and the sound cases are run all the same.

    Args:
        source: what the file holds.
        name: its name; paths in it are relative to its folder.
        catalog: what exists.
        problems: where mistakes go.
    """
    try:
        document = load_yaml(source, name)
    except DocumentError as error:
        problems.add(error)
        return
    faults = check_shape(document, "CASES", problems)
    broken = {fault.path[1] for fault in faults if len(fault.path) > 1}
    cases = document.data.get("cases") if isinstance(document.data, dict) else None
    names: set[str] = set()
    for number, data in enumerate(cases if isinstance(cases, list) else ()):
        if number in broken:
            continue
        at = ("cases", number)
        found = list(_mistakes(data, at, document, catalog, names))
        names.add(data["name"])
        problems.extend(found)
        if not found:
            yield from _case(data, at, document, problems)


def _case(data: dict[str, Any], at: Path, document: Document, problems: Problems) -> Iterator[Trial]:
    subject, place = document, (*at, "descriptor")
    descriptor = data.get("descriptor")
    if "path" in data:
        path = os.path.join(os.path.dirname(document.name), data["path"])
        source = _read(path, document.span((*at, "path")), problems)
        if source is None:
            return
        try:
            subject, place = load_json(source, path), ROOT
        except DocumentError as error:
            problems.add(error)
            return
        descriptor = subject.data
    yield Trial(
        "case",
        data["name"],
        None,
        document.span(at),
        subject,
        place,
        descriptor,
        read_given(data.get("given", {})),
        tuple(data.get("refused", ())),
        tuple(data.get("absent", ())),
        tuple(data["exactly"]) if "exactly" in data else None,
        tuple(data["places"]) if "places" in data else None,
        data.get("decision"),
    )


def _mistakes(
    data: dict[str, Any], at: Path, document: Document, catalog: Catalog, names: set[str]
) -> Iterator[TrialError]:
    if data["name"] in names:
        message = f"the name {data['name']!r} is taken"
        yield TrialError("case-name-taken", message, span=document.span((*at, "name")))
    if ("descriptor" in data) is ("path" in data):
        which = "both a descriptor and a path" if "path" in data else "neither a descriptor nor a path"
        yield TrialError("case-subject", f"the case has {which}", span=document.span(at))
    others = [key for key in ("refused", "absent") if key in data]
    if "exactly" in data and others:
        message = f"'exactly' says all that there is, so {others[0]!r} beside it says nothing"
        yield TrialError("case-expects", message, span=document.span((*at, others[0]), key=True))
    elif not others and not data.keys() & {"exactly", "places", "decision"}:
        yield TrialError("case-expects", "the case expects nothing", span=document.span(at))
    for number, id in enumerate(data.get("absent", ())):
        if id in data.get("refused", ()):
            message = f"{id!r} is to be both among the refusals and absent"
            yield TrialError("case-expects", message, span=document.span((*at, "absent", number)))
    given = data.get("given", {})
    if "placement" in given and given["placement"] not in catalog.placements:
        yield TrialError(
            "given-placement",
            f"no placement is called {given['placement']!r}",
            hint=did_you_mean(given["placement"], catalog.placements),
            span=document.span((*at, "given", "placement")),
        )
    for number, name in enumerate(given.get("mechanisms", ())):
        if name not in catalog.capabilities:
            yield TrialError(
                "given-mechanism",
                f"no capability is called {name!r}",
                hint=did_you_mean(name, catalog.capabilities),
                span=document.span((*at, "given", "mechanisms", number)),
            )


def _files(tests: FilePath, problems: Problems) -> Iterator[FilePath]:
    """The case files of a folder; whatever else looks like one is a problem. Hidden files are left alone."""
    for folder, folders, files in os.walk(tests, onerror=lambda fault: problems.add(_unreadable(fault, str(tests)))):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.startswith(".") or not name.lower().endswith((".yaml", ".yml")):
                continue
            file = FilePath(folder, name)
            if folder == str(tests) and name.endswith(".yaml"):
                yield file
            else:
                message = f"{name!r} looks like a file of cases, and is none"
                problems.add(TrialError("case-not-run", message, span=Span(str(file))))


def _read(path: str, span: Span, problems: Problems) -> bytes | None:
    try:
        # Opening a named pipe would wait for a writer.
        if not FilePath(path).is_file():
            there = os.path.lexists(path)
            raise OSError(0, "Not a regular file" if there else "No such file or directory")
        with open(path, "rb") as stream:
            return stream.read(MAX_BYTES + 1)  # one more, so that the loader says it is too large
    except (OSError, ValueError) as fault:
        problems.add(_unreadable(fault, path, span))
        return None


def _unreadable(fault: OSError | ValueError, path: str, span: Span | None = None) -> TrialError:
    reason = (fault.strerror if isinstance(fault, OSError) else None) or str(fault)
    return TrialError("case-unreadable", f"{path!r} cannot be read: {reason}", span=span or Span(path))
