"""With protect-steps, the plan of a release under way goes further only by people who may approve it.

Invariant: every attempt is a dry run of the real API server, and the release stays where it was.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import NamedTuple

import pytest
import yaml

from demo.stage import ROOT, Product
from localcluster.api import ApiClient, JsonObject
from localcluster.errors import RequestRefused
from localcluster.record import Recorder
from tests.cluster.conftest import fresh_namespace
from tests.cluster.kinds import ROLLOUTS, collection, path_of
from tests.cluster.manifests import Application, StepPlan
from tests.cluster.story import Story
from tests.cluster.test_traffic_routing import member

POLICY = ROOT / "deploy" / "kustomize" / "protect-steps" / "policy.yaml"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
POLICIES = "/apis/admissionregistration.k8s.io/v1"
PEOPLE = {
    "eddy": ("rollout-editor-role",),
    "anna": ("rollout-editor-role", "rollout-approver-role"),
}
DRY_RUN = "?dryRun=All"
JSON_PATCH = "application/json-patch+json"
STEPS = "/spec/strategy/canary/steps"
PLAN = (StepPlan(1), StepPlan(2, pause=600), StepPlan(4))


class Release(NamedTuple):
    """A release that waits in its first step, and a client for each person."""

    story: Story
    people: dict[str, ApiClient]

    @property
    def path(self) -> str:
        return path_of(self.story.key(ROLLOUTS))


@pytest.fixture(scope="module")
async def release(product: Product, recorder: Recorder) -> AsyncIterator[Release]:
    """Give it, under a policy that is bound to its namespace alone."""
    admin = product.plane.client()
    async with fresh_namespace(product.plane) as namespace:
        app = Application("protected", namespace, False, PLAN)
        made = Release(Story(product.plane, recorder, app), {})
        for who, roles in PEOPLE.items():
            await admin.create(
                f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": who}}
            )
            for role in roles:
                await admin.create(
                    f"{RBAC}/namespaces/{namespace}/rolebindings", _binding(who, role, namespace)
                )
            token = await product.plane.service_account_token(namespace, who)
            made.people[who] = product.plane.client_for_token(token)
        await made.story.begin()
        await made.story.paused_at(1)
        here = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
        objects = list(yaml.safe_load_all(POLICY.read_text()))
        for one in objects:
            if one["kind"].endswith("Binding"):
                one["spec"]["matchResources"] = {"namespaceSelector": here}
            await admin.create(_path_of(one), one)
        await _in_force(lambda: made.people["eddy"].delete(made.path, dryRun="All"))
        yield made
        for client in made.people.values():
            await client.close()
        for one in reversed(objects):
            await admin.delete(f"{_path_of(one)}/{one['metadata']['name']}")


def _path_of(policy: JsonObject) -> str:
    kind = str(policy["kind"]).lower()
    return f"{POLICIES}/{kind.replace('policy', 'policies') if kind.endswith('policy') else kind + 's'}"


def _binding(who: str, role: str, namespace: str) -> JsonObject:
    subject = {"kind": "ServiceAccount", "name": who, "namespace": namespace}
    group = "rbac.authorization.k8s.io"
    return {
        "metadata": {"name": f"{who}-{role}"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [subject],
    }


async def _in_force(attempt: Callable[[], Awaitable[object]]) -> None:
    """Return when the API server has read the policy that refuses this; the time limit of the test bounds it."""
    while True:
        try:
            await attempt()
        except RequestRefused:
            return


def set_to(path: str, value: object) -> list[JsonObject]:
    return [{"op": "add", "path": path, "value": value}]


FURTHER: dict[str, tuple[list[JsonObject], str]] = {
    "present pause ends": (set_to(f"{STEPS}/0/pause", {"duration": 0}), "may not shorten a pause"),
    "later pause is shorter": (set_to(f"{STEPS}/1/pause/duration", 1), "may not shorten a pause"),
    "disabled": (set_to("/spec/disabled", True), "may not change disabled"),
    "present step is larger": (set_to(f"{STEPS}/0/replicas", "100%"), "may not add, remove or"),
    "later step is larger": (set_to(f"{STEPS}/1/replicas", "100%"), "may not add, remove or"),
    "step is removed": ([{"op": "remove", "path": f"{STEPS}/1"}], "may not add, remove or"),
    "all steps are replaced": (set_to(STEPS, [{"replicas": "100%"}]), "may not add, remove or"),
    "another workload": (set_to("/spec/workloadRef/name", "other"), "nothing of the spec"),
    "another style": (
        set_to("/spec/strategy/canary/enableExtraWorkloadForCanary", True),
        "nothing",
    ),
    "an owner that does not exist": (
        set_to(
            "/metadata/ownerReferences",
            [{"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "gone"}],
        ),
        "no owner",
    ),
    "a label of ours": (
        set_to("/metadata/annotations", {"rollouts.kruise.io/rollback-in-batch": "true"}),
        "labels and annotations",
    ),
}


OF_THE_WEBHOOK = {"another workload", "another style", "all steps are replaced"}
"""The controller's own webhook refuses these during a release, whoever asks."""


@pytest.mark.parametrize("change", FURTHER)
async def test_an_editor_takes_a_release_under_way_no_further(
    release: Release, change: str
) -> None:
    patch, says = FURTHER[change]
    with pytest.raises(RequestRefused, match=says):
        await release.people["eddy"].patch(release.path + DRY_RUN, patch, JSON_PATCH)
    assert (await release.story.status())["phase"] == "Progressing"


@pytest.mark.parametrize("change", sorted(FURTHER.keys() - OF_THE_WEBHOOK))
async def test_an_approver_may_change_the_plan(release: Release, change: str) -> None:
    patch, _ = FURTHER[change]
    assert await release.people["anna"].patch(release.path + DRY_RUN, patch, JSON_PATCH)


async def test_an_editor_does_not_delete_a_release_under_way(release: Release) -> None:
    everything = release.path.rpartition("/")[0]
    for path in (release.path, everything):
        with pytest.raises(RequestRefused, match="may not delete it"):
            await release.people["eddy"].delete(path, dryRun="All")
    assert await release.people["anna"].delete(release.path, dryRun="All")


async def test_an_editor_may_hold_a_release_and_make_a_pause_longer(release: Release) -> None:
    for patch in (
        set_to("/spec/strategy/paused", True),
        set_to(f"{STEPS}/1/pause/duration", 6000),
        set_to(f"{STEPS}/1/pause", {}),
        set_to("/metadata/labels", {"team": "shop"}),
    ):
        changed = await release.people["eddy"].patch(release.path + DRY_RUN, patch, JSON_PATCH)
        assert changed


async def test_the_programs_that_clear_up_are_not_stopped(release: Release) -> None:
    """The garbage collector deletes what an owner leaves, and a namespace takes its Rollouts with it."""
    for account in ("generic-garbage-collector", "namespace-controller"):
        who = f"--as=system:serviceaccount:kube-system:{account}"
        app = release.story.app
        gone = await release.story.plane.kubectl(
            *("delete", "rollout", app.name, "-n", app.namespace, "--dry-run=server", who),
            user="admin",
        )
        assert "deleted" in gone


SHARED: dict[str, tuple[list[JsonObject], str]] = {
    "a larger share": (set_to("/spec/strategy/weight", 100), "may not change where"),
    "other objects": ([{"op": "remove", "path": "/spec/objectRef/0"}], "may not change where"),
    "it stops following": ([{"op": "remove", "path": "/metadata/finalizers"}], "finalizers"),
}


async def test_an_editor_sends_no_more_traffic_to_a_release_by_its_shared_route(
    release: Release,
) -> None:
    eddy, anna = release.people["eddy"], release.people["anna"]
    many = f"/apis/rollouts.kruise.io/v1alpha1/namespaces/{release.story.app.namespace}/trafficroutings"
    refs = [{"service": name, "gateway": {"httpRouteName": name}} for name in ("one", "two")]
    made: JsonObject = {
        "apiVersion": "rollouts.kruise.io/v1alpha1",
        "kind": "TrafficRouting",
        "metadata": {"name": "shared", "finalizers": ["progressing.rollouts.kruise.io/other"]},
        "spec": {"objectRef": refs, "strategy": {"weight": 10}},
    }
    # A finalizer of no Rollout would be removed.
    other = member(replace(release.story.app, name="other"), "shared")
    await anna.create(collection(ROLLOUTS, release.story.app.namespace), other)
    await anna.create(many, made)
    one = f"{many}/shared"
    await _in_force(lambda: eddy.delete(one, dryRun="All"))
    for patch, says in SHARED.values():
        with pytest.raises(RequestRefused, match=says):
            await eddy.patch(one + DRY_RUN, patch, JSON_PATCH)
        assert await anna.patch(one + DRY_RUN, patch, JSON_PATCH)
    with pytest.raises(RequestRefused, match="may not delete it"):
        await eddy.delete(one, dryRun="All")
    assert await eddy.patch(one, {"metadata": {"labels": {"team": "shop"}}})
    await anna.patch(one, [{"op": "remove", "path": "/metadata/finalizers"}], JSON_PATCH)
    assert await eddy.patch(one, {"spec": {"strategy": {"weight": 20}}})
    await eddy.delete(one)
