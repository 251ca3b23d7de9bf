"""Random releases of the simulated cluster are replayed on a real control plane: after every action both have the
same state.

Why: a thousand simulated releases prove something only if the simulation is correct.
"""

import asyncio
import uuid
from dataclasses import replace
from functools import partial

import pytest
import yaml

from controller.simulation.state import REVISION
from demo.stage import Product
from localcluster.api import JsonObject
from localcluster.errors import NotReady, RequestRefused
from localcluster.history import Change, Key
from localcluster.record import Recorder
from tests.cluster import manifests
from tests.cluster.conditions import ConditionsAreTrue
from tests.cluster.kinds import (
    DEPLOYMENTS,
    PODS,
    REPLICA_SETS,
    ROLLOUTS,
    SERVICES,
    VIRTUAL_SERVICES,
    collection,
    path_of,
)
from tests.cluster.rehearsal import RESTARTED, RUNS, Act, Run, runs
from tests.cluster.rest import Rest, rest_of_view
from tests.cluster.story import WORKLOAD_TYPE, Story
from tests.cluster.table import AT_ONCE
from tests.cluster.together import Together
from tests.cluster.view import View, deleting, image_of

DENIED = "replays.example/denied"
FORBIDDEN = 403
LOOK_SECONDS = 0.05
OFTEN = 8
"""Runs that are part of every test run."""
EXAMPLES_OF_OFTEN = 6 * OFTEN
"""Examples that these are chosen from, where no other run was selected."""
SECONDS = 120.0
NOT_RECORDED = ("raise_the_quota", "let_routes_be_written")
"""Acts on objects that nobody watches here."""


POLICY = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": "replays-deny-routes"},
    "spec": {
        "matchConstraints": {
            "namespaceSelector": {"matchLabels": {DENIED: DENIED.partition("/")[2]}},
            "resourceRules": [
                {
                    "apiGroups": ["networking.istio.io"],
                    "apiVersions": ["*"],
                    "operations": ["UPDATE"],
                    "resources": ["virtualservices"],
                }
            ],
        },
        "validations": [{"expression": "false", "message": "denied", "reason": "Forbidden"}],
    },
}
"""RBAC cannot remove a right in a single namespace; a policy that denies writes gives the controller the same
answer."""
BINDING = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicyBinding",
    "metadata": {"name": "replays-deny-routes"},
    "spec": {"policyName": "replays-deny-routes", "validationActions": ["Deny"]},
}


class Replay:
    """A run, on the cluster."""

    def __init__(self, run: Run, product: Product, recorder: Recorder, namespace: str) -> None:
        self._app = replace(run.app, namespace=namespace)
        self._run = run
        self._recorder, self._mark = recorder, recorder.mark()
        self._plane = product.plane
        self._story = Story(product.plane, recorder, self._app)
        self._done: list[Act] = []

    async def tell(self) -> None:
        """Repeat the recorded acts, and wait after each until the cluster has the recorded state."""
        space = {"metadata": {"name": self._app.namespace}}
        await self._plane.client().create("/api/v1/namespaces", space)
        await self._story.create(
            *(o for o in manifests.objects(self._app) if o["kind"] != "HorizontalPodAutoscaler")
        )
        await self._story.pods_ready()
        await self._story.govern()
        before: Rest | None = None
        for act, rest in self._run.acts:
            self._done.append(act)
            since = await self._perform(act)
            if act.what not in NOT_RECORDED or rest != before:
                await self._reached(rest, since)
            before = rest
        self._conditions_were_true()

    def _conditions_were_true(self) -> None:
        """The conditions were true at every revision."""
        checker, space = ConditionsAreTrue(self._app.name), self._app.namespace
        lived = self._recorder.history(self._mark)
        details = (checker.after(change) for change in lived if change.key.namespace == space)
        wrong = [detail for detail in details if detail is not None]
        assert not wrong, f"{wrong}, in {self._done}"

    async def _perform(self, act: Act) -> int:
        """The act; answers the revision from which on its consequences are looked for."""
        for hands in (self._to_the_rollout, self._to_the_workload, self._around_it):
            since = await hands(act)
            if since is not None:
                return since
        raise ValueError(act.what)

    async def _to_the_rollout(self, act: Act) -> int | None:
        story, approver = self._story, self._plane.client("approver")
        match act.what:
            case "approve" | "jump":
                asked = {"approval": {"step": act.value}, "jump": act.value}
                name = "approval" if act.what == "approve" else "jump"
                body = {"status": {"moonshift": {name: asked[name]}}}
                answer = await approver.patch(f"{path_of(story.key(ROLLOUTS))}/status", body)
            case "approve_while_routes_may_not_be_written":
                await self._deny(DENIED.partition("/")[2])
                return await self._to_the_rollout(Act("approve", act.value))
            case "pause":
                return await story.amend({"spec": {"strategy": {"paused": act.value}}})
            case "disable":
                return await story.amend({"spec": {"disabled": act.value}})
            case "delete_rollout":
                answer = await story.client.delete(path_of(story.key(ROLLOUTS)))
                return int(answer["metadata"].get("resourceVersion", 0))
            case "make_rollout":
                body = manifests.rollout(self._app)
                answer = await story.client.create(collection(ROLLOUTS, self._app.namespace), body)
            case _:
                return None
        return int(answer["metadata"]["resourceVersion"])

    async def _to_the_workload(self, act: Act) -> int | None:
        story = self._story
        match act.what:
            case "release_under_a_full_quota":
                await self._fill_the_quota()
                return await self._to_the_workload(Act("release", act.value))
            case "release":
                template = manifests.deployment(self._app, act.value)["spec"]["template"]
                # Applying a manifest removes the annotation of `kubectl rollout restart`.
                template["metadata"]["annotations"] = {RESTARTED: None}
                changed: JsonObject = {"spec": {"template": template}}
            case "restart":
                changed = {
                    "spec": {"template": {"metadata": {"annotations": {RESTARTED: act.value}}}}
                }
            case "pause_the_workload":
                changed = {"spec": {"paused": act.value}}
            case "take_the_label_off":
                changed = {"metadata": {"labels": {WORKLOAD_TYPE: None}}}
            case "replace":
                image, story.size = act.value
                answer = await story.replace(image)
                return int(answer["metadata"]["resourceVersion"])
            case "undo":
                await self._plane.kubectl(
                    "rollout", "undo", "deployment/shop", "-n", self._app.namespace
                )
                answer = await story.client.get(path_of(story.key(DEPLOYMENTS)))
                return int(answer["metadata"]["resourceVersion"])
            case _:
                return None
        return await story.amend(changed, DEPLOYMENTS)

    async def _around_it(self, act: Act) -> int | None:
        story = self._story
        match act.what:
            case "scale":
                story.size = act.value
                path = f"{path_of(story.key(DEPLOYMENTS))}/scale"
                answer = await story.client.patch(path, {"spec": {"replicas": act.value}})
            case "delete_a_replica_set":
                key = self._replica_set(act.value)
                await story.client.delete(path_of(key), propagationPolicy="Background")
                return (await story.gone(REPLICA_SETS, key.name)).resource_version
            case "apply_the_service":
                body = manifests.service(self._app)
                answer = await story.client.replace(path_of(story.key(SERVICES)), body)
            case "raise_the_quota":
                await self._plane.client().delete(self._quota)
                answer = await self._plane.client().get(self._quota.removesuffix("/pods"))
            case "let_routes_be_written":
                answer = await self._deny(None)
            case "evict":
                pod = next(p for p in story.pods() if image_of(p) == act.value and not deleting(p))
                key = story.key(PODS, pod["metadata"]["name"])
                answer = await story.client.delete(path_of(key))
            case _:
                return None
        return int(answer["metadata"]["resourceVersion"])

    @property
    def _quota(self) -> str:
        return f"/api/v1/namespaces/{self._app.namespace}/resourcequotas/pods"

    async def _fill_the_quota(self) -> None:
        """Room for no pod: the plane runs no controller of quotas, so what is used is written here."""
        client, hard = self._plane.client(), {"pods": "1"}
        body = {"metadata": {"name": "pods"}, "spec": {"hard": hard}}
        await client.create(self._quota.removesuffix("/pods"), body)
        await client.patch(f"{self._quota}/status", {"status": {"hard": hard, "used": hard}})

    async def _deny(self, value: str | None) -> JsonObject:
        """Label the namespace so that the policy denies writes of its routes, or no longer; return when it does so."""
        client, space = self._plane.client(), f"/api/v1/namespaces/{self._app.namespace}"
        answer = await client.patch(space, {"metadata": {"labels": {DENIED: value}}})
        route = f"{path_of(self._story.key(VIRTUAL_SERVICES))}?dryRun=All"
        async with asyncio.timeout(SECONDS):
            while await self._is_denied(route) != bool(value):  # noqa: ASYNC110 - bounded
                await asyncio.sleep(LOOK_SECONDS)
        return answer

    async def _is_denied(self, route: str) -> bool:
        """Whether a write of nothing, tried without effect, is denied."""
        try:
            await self._plane.client().patch(route, {})
        except RequestRefused as refused:
            if refused.status != FORBIDDEN:
                raise
            return True
        return False

    def _replica_set(self, image: str) -> Key:
        """The oldest of an image that the workload itself owns."""
        state = self._recorder.state()
        uid = state[self._story.key(DEPLOYMENTS)]["metadata"]["uid"]
        owned = [
            (int(found["metadata"]["annotations"][REVISION]), key)
            for key, found in state.items()
            if key.kind == REPLICA_SETS
            and found["metadata"]["ownerReferences"][0]["uid"] == uid
            and image_of(found["spec"]["template"]) == image
        ]
        return min(owned, key=lambda pair: pair[0])[1]

    async def _reached(self, rest: Rest, since: int) -> None:
        view = View(self._app.namespace)
        heard = since == 0 or self._done[-1].what in NOT_RECORDED

        def looks_like_it(change: Change) -> bool:
            nonlocal heard
            if change.key.namespace != self._app.namespace:
                return False
            # Watches of different kinds do not wait for each other: a person's change may be reported late.
            heard = heard or change.resource_version == since
            view.apply(change)
            return (
                heard and change.resource_version >= since and rest_of_view(self._app, view) == rest
            )

        try:
            await self._recorder.until(looks_like_it, SECONDS)
        except NotReady as late:
            now = rest_of_view(self._app, view)
            raise NotReady(
                f"after {self._done}\nis     {now}\nshould {rest}\n{late}\n{self._story.report()}"
            ) from late


@pytest.mark.parametrize(
    "number", [pytest.param(n, marks=[] if n < OFTEN else pytest.mark.full) for n in range(RUNS)]
)
async def test_a_simulated_release_ends_the_same_on_the_cluster(
    number: int, table: Together
) -> None:
    await table.result(str(number))


@pytest.fixture(scope="module")
async def table(request: pytest.FixtureRequest, product: Product, recorder: Recorder) -> Together:
    """Give the selected runs, being replayed."""
    await product.plane.apply(yaml.safe_dump_all([POLICY, BINDING]))
    together = Together(AT_ONCE)
    selected = sorted(
        int(str(item.callspec.params["number"]))
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.module is request.module
    )
    chosen = runs() if max(selected) >= OFTEN else runs(EXAMPLES_OF_OFTEN)
    together.start(
        (
            str(n),
            partial(Replay(chosen[n], product, recorder, f"test-{uuid.uuid4().hex[:10]}").tell),
        )
        for n in selected
    )
    return together
