"""Strict JSON and YAML with positions, canonical JSON and digests.

Everything that comes from outside is read here, once, and either becomes plain JSON data with a
known place for every key and value, or is refused by a `DocumentError` that names the place.
"""

from __future__ import annotations

from capgate.policy.documents.canonical import canonical, digest
from capgate.policy.documents.document import Document
from capgate.policy.documents.errors import DocumentError
from capgate.policy.documents.json_text import load_json
from capgate.policy.documents.yaml_text import load_yaml

__all__ = ["Document", "DocumentError", "canonical", "digest", "load_json", "load_yaml"]
