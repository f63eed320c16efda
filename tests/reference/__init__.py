"""A second evaluator of the rule language, slow and plainly written, to hold the compiled gate against.

It shares no code with the gate's compiler, conditions or facts. What it takes from the product is
the test for host names alone, because `type: host` is defined by it.
"""

from reference.verdict import Finding, judge

__all__ = ["Finding", "judge"]
