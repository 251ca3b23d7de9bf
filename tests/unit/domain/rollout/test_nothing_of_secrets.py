"""Nothing of a Secret, or of the environment of pods, is in an object that other people may read.

Invariant: one marker for each place, and every object of the API server is searched after every write, but for the
objects whose content it is.
"""

import msgspec
import pytest
from msgspec import structs

from controller.api.analysis import Analysis, Metric, NoData, OnFailure, PrometheusQuery, ValueRule
from controller.api.meta import ObjectMeta
from controller.api.names import TRACK_CONFIG
from controller.api.rollout import Pause, Step
from tests.unit.builders import KEY, NAMESPACE, make_deployment, make_rollout, make_strategy
from tests.unit.builders import make_world as furnished
from tests.unit.domain.rollout.scenes import BOTH
from tests.unit.domain.rollout.tracking import CONFIG_MAP, ON, SECRET, says
from tests.unit.worlds import World

OF_SECRET, OF_CONFIG, OF_ENVIRONMENT = "marker-of-a-secret", "marker-of-a-map", "marker-of-env"
CONTENT = {"deployments", "replicasets", "pods", "controllerrevisions", "secrets", "configmaps"}
"""Kinds whose readers may read the template or the content anyway."""
BAD, GOOD = (0.5,), (0.0,)


def template(version: str) -> msgspec.Raw:
    """Pods with a marker in their environment that read the Secret and the ConfigMap."""
    environment = [{"name": "PASSWORD", "value": f"{OF_ENVIRONMENT}-{version}"}]
    sources = [{"configMapRef": {"name": "web"}}, {"secretRef": {"name": "web"}}]
    container = {"name": "web", "image": f"img:{version}", "env": environment, "envFrom": sources}
    tree = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
    return msgspec.Raw(msgspec.json.encode(tree))


ERRORS = Metric(
    "errors",
    prometheus=PrometheusQuery(query="up"),
    interval="1s",
    success=ValueRule(max=0.1),
    no_data=NoData.FAIL,
)


def world_of(style: str, on_failure: OnFailure) -> World:
    """A world at rest whose plan has a gate, and whose Rollout tracks the content."""
    gate = Analysis(metrics=(ERRORS,), on_failure=on_failure)
    steps = (
        Step(replicas="20%", traffic="20%", pause=Pause(duration=0), analysis=gate),
        Step(replicas="100%", pause=Pause(duration=0)),
    )
    found = make_deployment()
    workload = structs.replace(found, spec=structs.replace(found.spec, template=template("v1")))
    rollout = make_rollout(strategy=make_strategy(steps=steps), style=style, annotations=ON)
    world = furnished(rollout, workload)
    says(world, OF_CONFIG, CONFIG_MAP)
    annotations = {TRACK_CONFIG: "true"}
    meta = ObjectMeta(name="web", namespace=NAMESPACE, annotations=annotations)
    says(world, OF_SECRET, SECRET, metadata=meta)
    world.rest()
    return world


def leaks(world: World) -> set[str]:
    """The objects in which a marker stands, each with the marker."""
    markers = (OF_SECRET, OF_CONFIG, OF_ENVIRONMENT)
    return {
        f"{plural} {key}: {marker}"
        for (_, plural), key, body in world.cluster.server.storage.everything()
        if plural not in CONTENT
        for marker in markers
        if marker in msgspec.json.encode(body).decode()
    }


@BOTH
@pytest.mark.parametrize("on_failure", OnFailure)
@pytest.mark.parametrize("errors", [GOOD, BAD, (), (float("nan"),)])
def test_no_secret_and_no_environment_is_in_an_object_that_others_read(
    style: str, on_failure: OnFailure, errors: tuple[float, ...]
) -> None:
    world = world_of(style, on_failure)
    assert leaks(world) == set()
    seen: set[str] = set()
    world.watchers.append(lambda: seen.update(leaks(world)))
    world.passes.measures.series["errors"] = errors
    world.people.edit(KEY, template=template("v2"))
    world.rest()
    assert seen == set()
