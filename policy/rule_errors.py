"""Mistakes in rule files: their ids, and how they are gathered."""

from __future__ import annotations

from collections.abc import Iterable

from capgate.policy.errors import CapgateError, PolicyInvalid

__all__ = ["Problems", "RuleError", "did_you_mean"]


class RuleError(CapgateError, ValueError):
    """A rule file, or a folder of them, cannot be used as it is."""

    ids = {
        "rules-unreadable": "Give a folder of rule files that this user may read.",
        "rules-empty": "Put at least one rule file (ID.yaml) into the folder, or leave the folder out.",
        "rules-foreign": "Rules are the *.yaml files directly in the folder; move all else away, cases into tests/.",
        "ruleset-missing": "The folder of shipped rules needs a ruleset.yaml.",
        "key-unknown": "Remove the key, or spell it as the rule language does.",
        "key-missing": "Add the key.",
        "value-unfit": "Give a value of the kind that is expected there.",
        "rule-loosens": "A rule can only add refusals; change what you run instead, or the rule itself.",
        "rule-id": "Name the file after the rule: the id, then .yaml.",
        "rule-id-taken": "Choose another id; a rule cannot be replaced.",
        "rule-unlisted": "List the rule under the stage in ruleset.yaml, or change the trigger's stage.",
        "rule-absent": "Remove the id from the stage, or add the rule or the trigger that it stands for.",
        "stage-unknown": "Use one of the stages of ruleset.yaml, or add one in a ruleset.yaml of your own.",
        "stage-taken": "Choose another name; a stage cannot be replaced.",
        "loop-variable": "Choose a lower-case name that nothing else has.",
        "condition-form": "Join several conditions with all, any or none.",
        "condition-list": "Give at least one condition, or remove the combinator.",
        "operators-missing": "Say what has to hold of the path.",
        "operator-unknown": "Use one of the operators in docs/rules.md.",
        "operand-unfit": "Give the operator an operand of its kind.",
        "operand-fact": "Write the operand as {fact: some.path}, or as a literal.",
        "pattern-unfit": "Keep to what RE2 and Python's re both read alike; see docs/rules.md.",
        "path-syntax": "Write a path as names joined by dots, such as descriptor.bounds.hosts.",
        "path-unknown": "Use a path that docs/rules.md lists.",
        "template-syntax": "Write {some.path} for a value, {{ and }} for braces.",
        "example-placement": "Use a placement that a plugin defines.",
        "example-mechanism": "Use the name of a capability.",
    }


class Problems:
    """The problems found so far, so that one run shows them all."""

    def __init__(self) -> None:
        self._found: list[CapgateError] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, problem: CapgateError) -> None:
        """Notes a problem and goes on."""
        self._found.append(problem)

    def extend(self, problems: Iterable[CapgateError]) -> None:
        """Notes several problems."""
        self._found.extend(problems)

    def raise_any(self) -> None:
        """Raises PolicyInvalid with all that was found, if anything was."""
        if self._found:
            raise PolicyInvalid(sorted(self._found, key=_place))


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """A hint that names the closest of the known words, or all of them where they are few; else None."""
    from difflib import get_close_matches  # slow to import, and only mistakes need it

    names = list(dict.fromkeys(known))
    lower = {name.lower(): name for name in reversed(names)}
    close = get_close_matches(word.lower(), lower, n=1, cutoff=0.6)
    if close:
        return f"Did you mean {lower[close[0]]!r}?"
    return f"Use one of: {', '.join(names)}." if 0 < len(names) <= 16 else None


def _place(problem: CapgateError) -> tuple[str, int, int]:
    span = problem.span
    return (span.file, span.line or 0, span.column or 0) if span else ("", 0, 0)
