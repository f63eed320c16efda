"""What ``capgate new`` writes: names checked, and templates filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from capgate import __version__
from capgate.host.scaffolds.errors import ScaffoldError

__all__ = ["descriptor_file", "plugin_files", "rule_files"]

_TEMPLATES: Final = Path(__file__).with_name("templates")
_PLACE: Final = re.compile("«([a-z]+)»")

_RULE_ID: Final = re.compile(r"[a-z][a-z0-9-]{0,99}")
_DESCRIPTOR_ID: Final = re.compile(r"[a-z0-9_-]{1,100}")
_PLUGIN: Final = re.compile(r"(?=.{1,60}\Z)[a-z][a-z0-9]*(-[a-z0-9]+)*")
#: Every plugin's distribution is called so, so that it can shadow no package of another kind.
_PREFIX: Final = "capgate-"
#: What YAML takes for something else than a text.
_NO_TEXT: Final = ("true", "false", "null")


def rule_files(id: str, folder: str) -> tuple[dict[str, str], str]:
    """The files of a rule by their paths, and the text of a read-me for the folder of rules that it is the first of.

    No two ids give rules that refuse the same.

    Args:
        id: the rule's id.
        folder: what the folder is called where the command is told of.

    Raises:
        ScaffoldError: name-unfit, name-taken.
    """
    if not _RULE_ID.fullmatch(id) or id in _NO_TEXT:
        raise _unfit(id, "a rule's id is lower-case letters, digits and '-', with a letter first, at most 100")
    from capgate import rules
    from capgate.policy.folders import RULESET
    from capgate.policy.ruleset import RESERVED_IDS

    taken = {path.name for home in rules.__path__ for path in Path(home).glob("*.yaml")}
    if f"{id}.yaml" in {*taken, RULESET} or id in RESERVED_IDS:
        raise ScaffoldError("name-taken", f"capgate itself has something called '{id}'")
    values = {"id": id, "folder": folder}
    files = {f"{id}.yaml": "rule.yaml", f"tests/{id}.yaml": "rule-cases.yaml"}
    return {path: _filled(template, values) for path, template in files.items()}, _filled("rule-readme.md", values)


def descriptor_file(id: str) -> str:
    """The text of a descriptor's file.

    Raises:
        ScaffoldError: name-unfit.
    """
    if not _DESCRIPTOR_ID.fullmatch(id):
        raise _unfit(id, "a descriptor's id is lower-case letters, digits, '_' and '-', at most 100")
    values = {"id": id, "title": _title(id), "tool": id.replace("-", "_")}
    return _filled("descriptor.json", values)


def plugin_files(name: str) -> tuple[str, dict[str, str]]:
    """The folder of a plugin's package, and its files by their paths in it.

    Args:
        name: the plugin's name, with or without ``capgate-`` before it.

    Raises:
        ScaffoldError: name-unfit, name-taken.
    """
    plugin = name.removeprefix(_PREFIX)
    if not _PLUGIN.fullmatch(plugin) or plugin in _NO_TEXT:
        raise _unfit(name, "a plugin's name is lower-case words and digits joined by '-', at most 60 characters")
    from capgate.plugins.config import Config
    from capgate.plugins.manager import load

    if plugin == "capgate" or plugin in load(config=Config()).catalog.capabilities:
        raise ScaffoldError("name-taken", f"capgate itself has something called '{plugin}'")
    distribution = _PREFIX + plugin
    package = distribution.replace("-", "_")
    major, minor, *_ = __version__.split(".")
    values = {
        "plugin": plugin,
        "distribution": distribution,
        "package": package,
        "title": _title(plugin),
        "tool": plugin.replace("-", "_"),
        "specifier": f">={major}.{minor},<{major}.{int(minor) + 1}",
    }
    homes = {
        "README.md": "readme.md",
        "pyproject.toml": "pyproject.toml",
        "capgate.yaml": "config.yaml",
        f"src/{package}/__init__.py": "init.py",
        f"src/{package}/plugin.py": "hooks.py",
        f"src/{package}/rules/{plugin}-offline.yaml": "rule.yaml",
        f"examples/{plugin}.json": "example.json",
        "tests/test_plugin.py": "tests.py",
    }
    return distribution, {path: _filled(f"plugin-{template}", values) for path, template in homes.items()}


def _filled(template: str, values: Mapping[str, str]) -> str:
    text = (_TEMPLATES / f"{template}.txt").read_text(encoding="utf-8")
    return _PLACE.sub(lambda found: values[found[1]], text)


def _title(id: str) -> str:
    words = re.split("[-_]+", id)
    return " ".join(word for word in words if word).capitalize() or id


def _unfit(name: str, expected: str) -> ScaffoldError:
    shown = "what YAML reads as no text" if name in _NO_TEXT else expected
    return ScaffoldError("name-unfit", f"'{name[:100]}' cannot be the name: {shown}")
