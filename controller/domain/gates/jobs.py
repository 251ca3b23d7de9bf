"""A Job as a measurement: its name, its manifest, and the meaning of its end.

Invariant: pure. The name is computed from the measurement, so a controller that restarts, or becomes the leader, finds
the existing Job and creates no second one. A Job always has an end: it is never given more time than `timeoutSeconds`,
and never more than the rest of its gate's time.
"""

import hashlib
import math
from collections.abc import Callable
from datetime import datetime

import msgspec
from msgspec import structs

from controller.api.analysis import JobQuery, Metric, ValueRule
from controller.api.jsontree import JsonObject
from controller.api.meta import Key, ObjectMeta
from controller.api.names import GATE, MEASUREMENT, V1BETA1
from controller.domain.decision import Measure, Value

LONGEST_NAME = 63
KEPT_SECONDS = 3600
"""How long a failed Job is kept, so that its log can be read, if the Job has no time of its own."""
DEADLINE_EXCEEDED = "DeadlineExceeded"
_SUCCEEDED = ValueRule(min=1)


class JobCondition(msgspec.Struct, frozen=True):
    """One condition of a Job."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class JobStatus(msgspec.Struct, frozen=True):
    """The fields of a Job's status that show its end."""

    conditions: tuple[JobCondition, ...] | None = ()


class Ended(Value, frozen=True):
    """How a Job ended; `why` is the Job controller's own reason and words."""

    succeeded: bool
    reason: str = ""
    why: str = ""


def with_bounds(metric: Metric) -> Metric:
    """The metric; a Job without bounds has to succeed."""
    if metric.job is None or metric.success is not None:
        return metric
    return structs.replace(metric, success=_SUCCEEDED)


def job_name(key: Key, asked: Measure) -> str:
    """The name of the Job of this measurement: of this Rollout, this start of the gate, this number."""
    text = "\n".join((key.namespace, key.name, asked.gate, asked.metric.name, str(asked.number)))
    digest = hashlib.sha256(text.encode()).hexdigest()[:10]
    words = f"{key.name}-{asked.metric.name}".lower().replace("_", "-").replace(".", "-")
    return f"{words[: LONGEST_NAME - len(digest) - 1].strip('-')}-{digest}"


def measurement_name(key: Key, asked: Measure) -> str:
    """The mark of the Job, which distinguishes it from somebody else's Job of the same name."""
    return f"{key.name}/{asked.gate}/{asked.metric.name}/{asked.number}"


def seconds_left(query: JobQuery, asked: Measure, now: datetime) -> int:
    """How long the Job may take: its own time, and no longer than its gate has left; at least a second."""
    if asked.until is None:
        return query.timeout_seconds
    return max(1, min(query.timeout_seconds, math.ceil((asked.until - now).total_seconds())))


def made(rollout: ObjectMeta, asked: Measure, spec: JsonObject, seconds: int) -> JsonObject:
    """The Job to create. It belongs to the Rollout, has these labels of it, ends in time, and goes some time after its
    end.
    """
    key = rollout.key
    owner = {"apiVersion": V1BETA1, "kind": "Rollout", "name": key.name, "uid": rollout.uid}
    labels = dict(rollout.labels)
    if len(key.name) <= LONGEST_NAME:
        labels[GATE] = key.name
    own = spec.get("activeDeadlineSeconds")
    limit = min(own, seconds) if isinstance(own, int) and own > 0 else seconds
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": job_name(key, asked),
            "namespace": key.namespace,
            "labels": labels,
            "annotations": {MEASUREMENT: measurement_name(key, asked)},
            "ownerReferences": [owner],
        },
        "spec": {
            "ttlSecondsAfterFinished": KEPT_SECONDS,
            **spec,
            "activeDeadlineSeconds": limit,
        },
    }


def ended(status: JobStatus) -> Ended | None:
    """How the Job ended; None while it runs."""
    for condition in status.conditions or ():
        if condition.status == "True" and condition.type in ("Complete", "Failed"):
            why = ": ".join(filter(None, (condition.reason, condition.message)))
            return Ended(condition.type == "Complete", condition.reason, why)
    return None


Place = tuple[str, ...]
"""Where a text stands in a Job's spec: the names of the fields, `*` for a place in a list."""


def filled_job(query: JobQuery, fill: Callable[[str, Place], str]) -> JobQuery:
    """The Job with `fill` applied to every text in it, except to keys."""
    spec = msgspec.json.encode(_filled(tree(query), fill, ()))
    return structs.replace(query, spec=msgspec.Raw(spec))


def texts_of(query: JobQuery) -> tuple[str, ...]:
    """Every text in the Job."""
    found: list[str] = []

    def note(text: str, _: Place) -> str:
        found.append(text)
        return text

    _filled(tree(query), note, ())
    return tuple(found)


def tree(query: JobQuery) -> JsonObject:
    """The Job's `spec`; empty if it is no object."""
    spec = msgspec.json.decode(query.spec)
    return spec if isinstance(spec, dict) else {}


def _filled(value: object, fill: Callable[[str, Place], str], place: Place) -> object:
    if isinstance(value, str):
        return fill(value, place)
    if isinstance(value, list):
        return [_filled(item, fill, (*place, "*")) for item in value]
    if isinstance(value, dict):
        return {name: _filled(item, fill, (*place, name)) for name, item in value.items()}
    return value
