"""Any write during a release keeps the hold and the admission pause. The owner's values are the values of the last
write.
"""

import copy

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from controller.api.jsontree import JsonObject, changed, child, same, text
from controller.api.names import (
    ADMISSION_PAUSE,
    FREEZE_MIN_READY_SECONDS,
    FREEZE_PROGRESS_DEADLINE_SECONDS,
    IN_PROGRESSING,
    ORIGINAL_STRATEGY,
    STABLE_REVISION,
)
from controller.api.rollout import Rollout
from controller.api.workloads import ReplicaSet
from controller.domain.admission.verdict import Amended, Refused
from controller.domain.admission.workload import admit_deployment
from controller.domain.pods.marks import hold_on
from tests.unit.domain.admission.objects import deployment, replica_set, rollout, template

SETS = (replica_set("v1", 1, 8), replica_set("v2", 2, 2))

STRATEGIES = st.builds(
    lambda surge, unavailable: {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable},
    },
    st.sampled_from(["25%", "10%", 2, 5]),
    st.sampled_from(["25%", 1, 3]),
)
MANIFESTS = st.fixed_dictionaries(
    {"strategy": STRATEGIES, "progressDeadlineSeconds": st.sampled_from([600, 60, 1200])},
    optional={"minReadySeconds": st.integers(1, 30), "paused": st.just(False)},
)
"""A value that an owner writes; a value that equals the hold's own cannot be distinguished from an absent one."""
IMAGES = st.sampled_from(["v2", "v2", "v1", "v3"])


def applied(old: JsonObject, manifest: JsonObject, image: str, how: str) -> JsonObject:
    """The object that an owner's write asks for."""
    spec = {**child(deployment(image), "spec"), **manifest, "template": template(image)}
    new = {**copy.deepcopy(old), "spec": spec}
    if how == "replace":
        metadata = {**child(deployment(), "metadata")}
        return {**new, "metadata": metadata}
    if how == "undo":
        return changed(new, ("metadata", "annotations"), {"deployment.kubernetes.io/revision": "1"})
    return new


def admitted(
    old: JsonObject, new: JsonObject, sets: tuple[ReplicaSet, ...], under: Rollout
) -> JsonObject:
    verdict = admit_deployment(old, new, under, sets)
    assert not isinstance(verdict, Refused)
    return verdict.obj if isinstance(verdict, Amended) else new


@given(
    first=MANIFESTS,
    writes=st.lists(
        st.tuples(MANIFESTS, IMAGES, st.sampled_from(["apply", "replace", "undo"]), st.booleans()),
        max_size=5,
    ),
)
def test_writes_of_owners_during_a_release_are_kept(
    first: JsonObject, writes: list[tuple[JsonObject, str, str, bool]]
) -> None:
    under = rollout()
    live = admitted(deployment(), deployment("v2", **first), (replica_set("v1", 1),), under)
    for manifest, image, how, resumed in writes:
        if resumed:
            # The controller's first move.
            live = changed(live, ("metadata", "annotations", ADMISSION_PAUSE), None)
            live = changed(live, ("spec", "paused"), None)
        before = live
        live = admitted(before, applied(before, manifest, image, how), SETS, under)
        same_template = same(child(before, "spec", "template"), child(live, "spec", "template"))
        _check_marks(before, live, same_template)
        _check_hold(before, live, image, same_template)
        _check_record(live, manifest)


def _check_marks(before: JsonObject, live: JsonObject, same_template: bool) -> None:
    was, now = (child(obj, "metadata", "annotations") for obj in (before, live))
    assert now[IN_PROGRESSING] == was[IN_PROGRESSING]
    assert child(live, "metadata", "labels")[STABLE_REVISION] == "h1"
    if same_template:
        assert now.get(ADMISSION_PAUSE) == was.get(ADMISSION_PAUSE)
    else:
        assert now[ADMISSION_PAUSE] not in (None, was.get(ADMISSION_PAUSE))
    if ADMISSION_PAUSE in now:
        assert child(live, "spec")["paused"] is True


def _check_hold(before: JsonObject, live: JsonObject, image: str, same_template: bool) -> None:
    spec = child(live, "spec")
    held = spec.get("minReadySeconds") == FREEZE_MIN_READY_SECONDS
    # The revision that ran before is never held, any other always.
    assert held == (image != "v1")
    assert (spec.get("progressDeadlineSeconds") == FREEZE_PROGRESS_DEADLINE_SECONDS) == held
    if same_template:
        assert same(spec["strategy"], child(before, "spec")["strategy"])


def _check_record(live: JsonObject, manifest: JsonObject) -> None:
    record = hold_on(live).record
    assert record is not None
    assert record.release
    written = msgspec.json.decode(text(live, "metadata", "annotations", ORIGINAL_STRATEGY))
    assert written["strategy"] == manifest["strategy"]
    assert written["minReadySeconds"] == manifest.get("minReadySeconds", 0)
    assert written["progressDeadlineSeconds"] == manifest["progressDeadlineSeconds"]
    assert written["paused"] is False
