"""The API server's refusals of workloads, Services and gateway objects, for the fields that a simulation reads.

Why: their schemas are not ours and not at hand without a cluster; fields that are not read here are accepted.
Invariant: an object without a problem can be played.
"""

from controller.api.jsontree import JsonObject, child, number, text
from controller.api.schema import problems

MAX_PODS = 1000
"""The most pods that a simulation plays; more would take minutes and show nothing new."""

_WORD: JsonObject = {"type": "string"}
_WORDS: JsonObject = {"type": "object", "additionalProperties": _WORD}
_ANY: JsonObject = {"x-kubernetes-preserve-unknown-fields": True}
_COUNT: JsonObject = {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}
_SHARE: JsonObject = {"x-kubernetes-int-or-string": True, "pattern": "^[0-9]+%?$", "minimum": 0}
_METADATA: JsonObject = {
    **_ANY,
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {
            "type": "string",
            "maxLength": 253,
            "pattern": r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$",
        },
        "namespace": {
            "type": "string",
            "maxLength": 63,
            "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$",
        },
        "labels": _WORDS,
        "annotations": _WORDS,
    },
}
_CONTAINER: JsonObject = {
    **_ANY,
    "type": "object",
    "required": ["name"],
    "properties": {"name": _WORD, "image": _WORD},
}
_TEMPLATE: JsonObject = {
    **_ANY,
    "type": "object",
    "required": ["metadata", "spec"],
    "properties": {
        "metadata": {
            **_ANY,
            "type": "object",
            "properties": {"labels": _WORDS, "annotations": _WORDS},
        },
        "spec": {
            **_ANY,
            "type": "object",
            "required": ["containers"],
            "properties": {
                "containers": {"type": "array", "minItems": 1, "items": _CONTAINER},
                "volumes": {"type": "array", "items": {**_ANY, "type": "object"}},
            },
        },
    },
}
_ROLLING: JsonObject = {
    **_ANY,
    "type": "object",
    "properties": {"maxSurge": _SHARE, "maxUnavailable": _SHARE, "partition": _SHARE},
}
_STRATEGY: JsonObject = {
    **_ANY,
    "type": "object",
    "properties": {
        "type": _WORD,
        "rollingUpdate": _ROLLING,
        "partition": _SHARE,
        "maxSurge": _SHARE,
        "maxUnavailable": _SHARE,
        "paused": {"type": "boolean"},
    },
}
WORKLOAD: JsonObject = {
    **_ANY,
    "type": "object",
    "required": ["metadata", "spec"],
    "properties": {
        "metadata": _METADATA,
        "spec": {
            **_ANY,
            "type": "object",
            "required": ["selector", "template"],
            "properties": {
                "replicas": _COUNT,
                "minReadySeconds": _COUNT,
                "progressDeadlineSeconds": _COUNT,
                "revisionHistoryLimit": _COUNT,
                "paused": {"type": "boolean"},
                "selector": {
                    **_ANY,
                    "type": "object",
                    "properties": {"matchLabels": _WORDS},
                },
                "template": _TEMPLATE,
                "strategy": _STRATEGY,
                "updateStrategy": _STRATEGY,
                "scaleStrategy": {**_ANY, "type": "object"},
            },
        },
    },
}
_PORT: JsonObject = {
    **_ANY,
    "type": "object",
    "required": ["port"],
    "properties": {
        "port": {"type": "integer", "minimum": 1, "maximum": 65535},
        "name": _WORD,
        "protocol": _WORD,
        "targetPort": {"x-kubernetes-int-or-string": True},
        "appProtocol": _WORD,
    },
}
SERVICE: JsonObject = {
    **_ANY,
    "type": "object",
    "required": ["metadata", "spec"],
    "properties": {
        "metadata": _METADATA,
        "spec": {
            **_ANY,
            "type": "object",
            "properties": {
                "selector": _WORDS,
                "type": _WORD,
                "clusterIP": _WORD,
                "ports": {"type": "array", "items": _PORT},
            },
        },
    },
}
GATEWAY_OBJECT: JsonObject = {
    **_ANY,
    "type": "object",
    "required": ["metadata"],
    "properties": {"metadata": _METADATA, "spec": {**_ANY, "type": "object"}},
}
ROLLOUT: JsonObject = {**_ANY, "type": "object", "properties": {"metadata": _METADATA}}


def workload_problems(obj: JsonObject) -> tuple[str, ...]:
    """The mistakes in a workload."""
    if found := problems(obj, WORKLOAD):
        return found
    wanted = child(obj, "spec", "selector", "matchLabels").items()
    labels = child(obj, "spec", "template", "metadata", "labels").items()
    if not wanted <= labels or not child(obj, "spec", "selector"):
        return ("spec.template.metadata.labels: Invalid value: the selector does not match them",)
    if (number(obj, "spec", "replicas") or 0) > MAX_PODS:
        return (f"spec.replicas: a simulation plays at most {MAX_PODS} pods",)
    return ()


def named(obj: JsonObject) -> str:
    """The object as messages name it."""
    return f"{text(obj, 'kind')} {text(obj, 'metadata', 'name')}"
