"""Updates of a Deployment, and admission's answers."""

import copy

from controller.api.jsontree import JsonObject, changed, child, text
from controller.api.names import (
    ADMISSION_PAUSE,
)
from controller.api.rollout import (
    Rollout,
)
from controller.api.workloads import ReplicaSet
from controller.domain.admission.verdict import Amended, Refused, Verdict
from controller.domain.admission.workload import (
    admit_deployment,
)
from tests.unit.domain.admission.objects import deployment, replica_set, rollout

GENTLE = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}


LIMITS: JsonObject = {"maxSurge": "25%", "maxUnavailable": "25%"}


OWN: JsonObject = {"type": "RollingUpdate", "rollingUpdate": LIMITS}


ONE = (replica_set("v1", 1),)


TWO = (replica_set("v1", 1, 8), replica_set("v2", 2, 2))


def judged(
    old: JsonObject,
    new: JsonObject,
    replica_sets: tuple[ReplicaSet, ...] = ONE,
    under: Rollout | None = None,
) -> Verdict:
    """The verdict under a healthy Rollout."""
    return admit_deployment(old, new, under or rollout(), replica_sets)


def result(verdict: Verdict, new: JsonObject) -> JsonObject:
    """The object that the API server stores."""
    assert not isinstance(verdict, Refused), verdict
    return verdict.obj if isinstance(verdict, Amended) else new


def stored(
    old: JsonObject,
    new: JsonObject,
    replica_sets: tuple[ReplicaSet, ...] = ONE,
    under: Rollout | None = None,
) -> JsonObject:
    """The object that the API server stores; without `under`, a healthy Rollout governs it."""
    return result(judged(old, new, replica_sets, under), new)


def spec(obj: JsonObject, *names: str) -> object:
    """A field of the spec."""
    return child(obj, "spec", *names[:-1]).get(names[-1])


def annotation(obj: JsonObject, name: str) -> str:
    """An annotation, or an empty string."""
    return text(obj, "metadata", "annotations", name)


def set_in(obj: JsonObject, *path: str, to: object) -> JsonObject:
    """A changed copy."""
    return changed(copy.deepcopy(obj), path, to)


def held(image: str = "v2", **fields: object) -> JsonObject:
    """A Deployment during a release: held, no admission pause, limits {0, 20%}."""
    admission_paused = stored(deployment(), deployment(image, **fields))
    paced = set_in(admission_paused, "metadata", "annotations", ADMISSION_PAUSE, to=None)
    paced = set_in(paced, "spec", "paused", to=None)
    rolling_limits = {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": 0, "maxUnavailable": "20%"},
    }
    return set_in(paced, "spec", "strategy", to=rolling_limits)
