"""The part of a gateway object that a release may change, and the annotation that keeps the original of it.

The *content* of an object is a tree of `spec`, `labels` and `annotations` (each absent when empty), without Moonshift's
two annotations. The original content is kept on the object itself, under the key and in the form of the original
controller, so that each of the two controllers can restore an object that the other one changed.
Invariant: `read_original(write_original(content))` is `content`; unknown fields and big numbers survive.
Must not decide whether a stored original may be trusted: `drift` does.
"""

from controller.api.names import ORIGINAL_SPEC, ROUTE_STATE
from controller.domain.traffic.tree import Json, Tree, decode_tree, encode

MARKS = (ORIGINAL_SPEC, ROUTE_STATE)
"""Annotations of an object in use. They are never part of the content."""


def strings_of(value: Json) -> dict[str, str]:
    """`value` as a map of strings; a value of another type counts as empty."""
    if not isinstance(value, dict):
        return {}
    return {key: item for key, item in value.items() if isinstance(item, str)}


def _content(spec: Json, labels: dict[str, str], annotations: dict[str, str]) -> Tree:
    content: Tree = {}
    if spec is not None:
        content["spec"] = spec
    if labels:
        content["labels"] = {**labels}
    if annotations:
        content["annotations"] = {**annotations}
    return content


def content_of(live: Tree) -> Tree:
    """The content of a whole object."""
    metadata = live.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    annotations = strings_of(metadata.get("annotations"))
    return _content(
        live.get("spec"),
        strings_of(metadata.get("labels")),
        {key: value for key, value in annotations.items() if key not in MARKS},
    )


def marks_of(live: Tree) -> dict[str, str]:
    """Our annotations, as far as the object has them."""
    metadata = live.get("metadata")
    found = strings_of(metadata.get("annotations") if isinstance(metadata, dict) else None)
    return {key: value for key, value in found.items() if key in MARKS}


def with_content(live: Tree, content: Tree, ours: dict[str, str]) -> bytes:
    """The object in bytes with `content` and the annotations `ours`; everything else is unchanged."""
    metadata = live.get("metadata")
    metadata = {**metadata} if isinstance(metadata, dict) else {}
    parts: dict[str, dict[str, str]] = {
        "labels": strings_of(content.get("labels")),
        "annotations": {**strings_of(content.get("annotations")), **ours},
    }
    for key, value in parts.items():
        metadata.pop(key, None)
        if value:
            metadata[key] = {**value}
    changed: Tree = {key: value for key, value in live.items() if key != "spec"}
    changed["metadata"] = metadata
    if "spec" in content:
        changed["spec"] = content["spec"]
    return encode(changed)


def write_original(content: Tree) -> str:
    """The annotation's text: keys in the order spec, labels, annotations; empty ones left out."""
    ordered: Tree = {
        key: content[key] for key in ("spec", "labels", "annotations") if key in content
    }
    return encode(ordered, sort=False).decode()


def read_original(text: str) -> Tree | None:
    """The content in a stored original, of either controller; None when it is not valid."""
    try:
        stored = decode_tree(text.encode("utf-8", "replace"))
    except ValueError:
        return None
    labels, annotations = stored.get("labels"), stored.get("annotations")
    if not all(part is None or _is_string_map(part) for part in (labels, annotations)):
        return None
    if not isinstance(stored.get("spec"), dict | None):
        return None
    kept = {k: v for k, v in strings_of(annotations).items() if k not in MARKS}
    content = _content(stored.get("spec"), strings_of(labels), kept)
    # An empty value would wipe the object on restore; every gateway object has some content.
    return content or None


def _is_string_map(value: Json) -> bool:
    return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
