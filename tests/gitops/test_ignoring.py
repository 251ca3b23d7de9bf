"""A GitOps tool that reverts every difference from Git, except in the fields of the generated file, has nothing to
revert."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import yaml

from controller.api.jsontree import JsonObject, changed, child
from controller.kube.resources import DEPLOYMENTS, HPAS, SERVICES, Resource, known_workload
from controller.simulation.state import resource_of_kind
from tests.gitops import ignoring
from tests.gitops.ignoring import Ignored, ignored
from tests.unit.builders import (
    KEY,
    SETS,
    make_deployment,
    make_rollout,
    make_set_world,
    make_world,
    release,
    release_set,
    status_of,
    template,
)
from tests.unit.domain.rollout.scenes import approve
from tests.unit.domain.rollout.styles.test_blue_green import PLAN, autoscaled, blue_green
from tests.unit.worlds import World

ROUTES = resource_of_kind("networking.istio.io/v1", "VirtualService")
IGNORED = {(one.group, one.kind): one for one in ignored()}
EVERY = [name for name in SETS if "labelled" not in name]


class SelfHeal:
    """Git's manifests, and a look at the cluster after every write."""

    def __init__(self, world: World, *resources: Resource) -> None:
        self._world = world
        self._resources = resources
        self._wanted = {resource: self._live(resource) for resource in resources}
        self.fights: list[str] = []
        """The fields that a tool would have reverted."""
        self.spared: set[str] = set()
        """Kinds in which it would have, without the file."""
        for resource in resources:
            if self._wanted[resource].get("spec", {}).get("template") is not None:
                new = msgspec.json.decode(template("v2"))
                wanted = changed(self._wanted[resource], ("spec", "template"), new)
                self._wanted[resource] = wanted
        world.watchers.append(self._look)

    def _live(self, resource: Resource) -> Any:
        found = self._world.cluster.server.storage.get((resource.group, resource.plural), KEY)
        assert found is not None, resource
        return found

    def _look(self) -> None:
        for resource in self._resources:
            live, wanted = self._live(resource), self._wanted[resource]
            if live["spec"] == wanted["spec"]:
                continue
            self.spared.add(resource.kind)
            rule = IGNORED[resource.group, resource.kind]
            if masked(rule, live, live) != masked(rule, wanted, live):
                self.fights.append(f"{resource.kind}: {live['spec']} is not {wanted['spec']}")


def masked(rule: Ignored, obj: JsonObject, live: JsonObject) -> JsonObject:
    """The spec without the places that are ignored, where the live object carries the mark."""
    if rule.mark not in child(live, "metadata", rule.part):
        return child(obj, "spec")
    for place in rule.places:
        obj = changed(obj, place, None)
    return child(obj, "spec")


def to_its_end(world: World) -> None:
    """Every step is approved."""
    for _ in range(6):
        if status_of(world).phase == "Progressing":
            approve(world)


@pytest.mark.parametrize("style", ["partition", "canary"])
def test_a_deployment_is_never_fought_over(style: str) -> None:
    world = make_world(make_rollout(style=style), make_deployment())
    tool = SelfHeal(world, DEPLOYMENTS, SERVICES, ROUTES)
    release(world)
    world.rest()
    to_its_end(world)
    assert tool.fights == []
    assert tool.spared == {"Deployment", "Service", "VirtualService"}


def test_blue_green_is_never_fought_over() -> None:
    world = blue_green(*PLAN)
    autoscaled(world)
    tool = SelfHeal(world, DEPLOYMENTS, SERVICES, ROUTES, HPAS)
    release(world)
    world.rest()
    to_its_end(world)
    assert tool.fights == []
    assert "HorizontalPodAutoscaler" in tool.spared


@pytest.mark.parametrize("which", EVERY)
def test_a_set_of_pods_is_never_fought_over(which: str) -> None:
    ref = SETS[which]
    resource = known_workload(ref.api_version, ref.kind)
    assert resource is not None
    world = make_set_world(which)
    tool = SelfHeal(world, resource, SERVICES, ROUTES)
    release_set(world)
    world.rest()
    to_its_end(world)
    others = [fight for fight in tool.fights if "'paused': False" not in fight]
    assert others == []
    assert ref.kind in tool.spared


def test_the_file_agrees_with_the_code() -> None:
    assert ignoring.FILE.read_text() == ignoring.text(), "run: make generate"


def rules() -> Iterator[tuple[str, str]]:
    """Names and expressions of Argo CD's part."""
    argo, _ = yaml.safe_load_all(ignoring.FILE.read_text())
    for name, item in argo["data"].items():
        for expression in yaml.safe_load(item)["jqPathExpressions"]:
            yield name.rpartition("ignoreDifferences.")[2], expression


def test_both_pins_of_a_service_are_named() -> None:
    services = [expression for name, expression in rules() if name == "_Service"]
    assert len(services) == 2
    assert all('select(.metadata.labels["moonshift.dev/pinned"])' in one for one in services)


def test_every_kind_that_a_packaged_script_changes_is_named() -> None:
    named = {name for name, _ in rules()}
    assert {f"{group}_{kind}" for group, kind in ignoring.routes()} <= named
    assert len(ignoring.routes()) > 20


def test_the_part_for_flux_names_the_same_places() -> None:
    _, flux = yaml.safe_load_all(ignoring.FILE.read_text())
    ignored = flux["spec"]["driftDetection"]["ignore"]
    assert len(ignored) == len(IGNORED)
    assert {one["target"]["kind"] for one in ignored} == {kind for _, kind in IGNORED}
