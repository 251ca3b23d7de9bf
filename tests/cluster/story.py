"""One application on the cluster, a person who releases it, and the record of their actions and changes.

Why it exists: a scenario should read like the instructions of a colleague. Invariant: every wait is for a recorded
change, never for the clock; each action of the person is logged with its revision. It must not judge: `invariants`
does.
"""

import copy
from collections.abc import Callable, Mapping

import yaml

from demo.stage import CONTROLLER, NAMESPACE
from localcluster.api import ApiClient, JsonObject
from localcluster.audit import AuditRecord
from localcluster.errors import NotReady
from localcluster.history import Change, Key, Kind
from localcluster.plane import Plane
from localcluster.record import Recorder
from tests.cluster import manifests
from tests.cluster.asked import judge_requests
from tests.cluster.instants import instants
from tests.cluster.invariants import Violation, judge, judge_end
from tests.cluster.kinds import (
    AUTOSCALERS,
    DESTINATION_RULES,
    EVENTS,
    PODS,
    ROLLOUTS,
    SERVICES,
    SLICES,
    VIRTUAL_SERVICES,
    collection,
    path_of,
)
from tests.cluster.manifests import Application
from tests.cluster.margins import Times
from tests.cluster.status_fields import at, available, revision_of, step_of, sub_status
from tests.cluster.user_actions import UserAction
from tests.cluster.view import ready

KINDS = {
    "HorizontalPodAutoscaler": AUTOSCALERS,
    "Service": SERVICES,
    "VirtualService": VIRTUAL_SERVICES,
    "DestinationRule": DESTINATION_RULES,
    "Rollout": ROLLOUTS,
}
RELEASE_SECONDS = 120.0
CONTROLLER_USER = f"system:serviceaccount:{NAMESPACE}:{CONTROLLER}"
ROLLOUT_ID = "rollouts.kruise.io/rollout-id"
WORKLOAD_TYPE = "rollouts.kruise.io/workload-type"


class Story:
    """An application and the actions on it; `expected` are the owner's objects as they should be in the end.

    `plainly`: the first approval names no step. `requests_judged`: the rules of `asked` are checked, because no right
    is removed.
    """

    def __init__(
        self,
        plane: Plane,
        recorder: Recorder,
        app: Application,
        *,
        plainly: bool = False,
        requests_judged: bool = False,
    ) -> None:
        """`requests_judged`: also check the rules of `asked`, which hold if no right is removed."""
        self.plane = plane
        self.recorder = recorder
        self.app = app
        self._plainly = plainly
        self._requests_judged = requests_judged
        self.actions: list[UserAction] = []
        self.expected: dict[Key, JsonObject] = {}
        self._audit_mark, self._mark = plane.audit.mark(), recorder.mark()
        self._before = recorder.state()
        self.size = app.replicas
        """How many replicas the owner asks for."""
        self._last = 0
        self._since = 0

    @property
    def client(self) -> ApiClient:
        """Requests as the developer."""
        return self.plane.client("developer")

    @property
    def workload(self) -> Kind:
        """The resource of the workload."""
        return self.app.workload_kind

    def key(self, kind: Kind, name: str = "") -> Key:
        """An object of this application."""
        return Key(kind, self.app.namespace, name or self.app.name)

    # --- what the person does -----------------------------------------------------------------------

    async def create(self, *objects: JsonObject) -> None:
        """Create objects."""
        for body in objects:
            kind = KINDS.get(body["kind"], self.app.workload_kind)
            await self.client.create(collection(kind, self.app.namespace), body)

    async def install(self) -> None:
        """The application as its owner has it, with all pods ready."""
        await self.create(*manifests.objects(self.app))
        await self.pods_ready()

    async def govern(self, body: JsonObject | None = None) -> None:
        """Create the Rollout and wait until the workload is under its protection."""
        await self.create(body or manifests.rollout(self.app))
        await self.labelled()

    async def labelled(self) -> None:
        """Wait until the workload carries the label that admission selects by."""
        await self.until(
            self.workload, lambda d: WORKLOAD_TYPE in (d["metadata"].get("labels") or {})
        )

    async def begin(self) -> None:
        """Install, govern, release the new image."""
        await self.install()
        await self.govern()
        await self.release(manifests.NEW_IMAGE)

    async def release(
        self, image: str, labels: Mapping[str, str] | None = None, **container: JsonObject
    ) -> None:
        """Change the template: the image, and other fields of its container; or labels of its pods."""
        if not self.actions:
            await self._snapshot()
        containers = [{"name": "main", "image": image, **container}]
        template = {"metadata": {"labels": {**(labels or {})}}, "spec": {"containers": containers}}
        path = path_of(self.key(self.workload))
        answer = await self.client.patch(path, {"spec": {"template": template}})
        expected = self.expected[self.key(self.workload)]["spec"]["template"]
        expected["metadata"]["labels"] |= labels or {}
        self._did("release", answer, image)

    async def give_id(self, rollout_id: str) -> None:
        """Change the workload's rollout-id, and nothing of its template."""
        await self._snapshot()
        body = {"metadata": {"annotations": {ROLLOUT_ID: rollout_id}}}
        self._last = await self.amend(body, self.workload)
        self.expected[self.key(self.workload)]["metadata"]["annotations"][ROLLOUT_ID] = rollout_id

    async def approve(self, step: int = 1, kind: Kind = ROLLOUTS) -> None:
        """Approve the waiting step.

        Only the first approval may name no step: such an approval delays the next pause by three seconds.
        """
        exact: JsonObject = {"moonshift": {"approval": {"step": step}}}
        part = "blueGreenStatus" if self.app.blue_green else "canaryStatus"
        plain: JsonObject = {part: {"currentStepState": "StepReady"}}
        path = f"{path_of(self.key(kind))}/status"
        first = not any(action.what == "approve" for action in self.actions)
        body = {"status": plain if first and self._plainly else exact}
        self._did("approve", await self.plane.client("approver").patch(path, body))

    async def reach(self, last: int, first: int = 1) -> None:
        """Wait until step `last` waits for its approval, approving those before it."""
        for step in range(first, last):
            await self.paused_at(step)
            await self.approve(step)
        await self.paused_at(last)

    async def restart(self, image: str) -> None:
        """Change the template during a release, and wait until the release is about it."""
        before = revision_of(await self.status())
        await self.release(image)
        begun = await self.rollout(lambda s: revision_of(s) != before)
        self._last = begun.resource_version

    async def approve_all(self, first: int = 1) -> None:
        """Approve every step that waits for a person, from the `first` on."""
        for step in range(first, len(self.app.steps) + 1):
            if not self.app.automatic(step):
                await self.paused_at(step)
                await self.approve(step)

    async def jump(self, step: int) -> None:
        """Go to another step (or to the same one again), as clients of the original do it; wait until the controller
        has seen it.
        """
        part = "blueGreenStatus" if self.app.blue_green else "canaryStatus"
        body = {"status": {part: {"nextStepIndex": step}}}
        path = f"{path_of(self.key(ROLLOUTS))}/status"
        answer = await self.plane.client("approver").patch(path, body)
        self._last = int(answer["metadata"]["resourceVersion"])
        self.actions.append(UserAction(self._last, "jump", step=step))
        heard = await self.rollout(
            lambda s: step_of(s) == step and sub_status(s).get("nextStepIndex") != step
        )
        self._last = heard.resource_version

    async def amend(self, patch: JsonObject, kind: Kind = ROLLOUTS) -> int:
        """Merge a patch into the Rollout (or another object); return its revision."""
        answer = await self.client.patch(path_of(self.key(kind)), patch)
        return int(answer["metadata"]["resourceVersion"])

    async def scale(self, size: int) -> None:
        """Change the number of replicas as an autoscaler does: past admission, by the scale subresource."""
        path = f"{path_of(self.key(self.workload))}/scale"
        answer = await self.client.patch(path, {"spec": {"replicas": size}})
        revision = int(answer["metadata"]["resourceVersion"])
        self.actions.append(UserAction(revision, "scale", size=size))
        self._last, self.size = revision, size
        self.expected[self.key(self.workload)]["spec"]["replicas"] = size

    async def replace(self, image: str) -> JsonObject:
        """`kubectl replace` the workload with its owner's bare manifest."""
        path = path_of(self.key(self.workload))
        body = manifests.workload(self.app, image)
        if "replicas" in body["spec"]:
            body["spec"]["replicas"] = self.size
        if self.workload.group != "apps":
            # As kubectl does it: the API server replaces an object of a CRD only if the request names its resource
            # version.
            live = await self.client.get(path)
            body["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
        return await self.client.replace(path, body)

    async def disable(self) -> None:
        """Switch the Rollout off."""
        revision = await self.amend({"spec": {"disabled": True}})
        self._note("disable", revision)

    async def delete(self) -> None:
        """Delete the Rollout."""
        answer = await self.client.delete(path_of(self.key(ROLLOUTS)))
        self._note("delete", int(answer["metadata"].get("resourceVersion", 0)) or self._last)

    async def apply(self, body: JsonObject, *, server_side: bool) -> None:
        """`kubectl apply` a manifest, as the owner's pipeline does."""
        text = yaml.safe_dump(body)
        await self.plane.apply(text, user="developer", server_side=server_side)

    async def remove(self) -> None:
        """Delete everything of the application."""
        owned = (VIRTUAL_SERVICES, DESTINATION_RULES, SERVICES, AUTOSCALERS, self.workload)
        for kind in (ROLLOUTS, *owned):
            if self.key(kind) in self.recorder.state():
                await self.client.delete(path_of(self.key(kind)), propagationPolicy="Background")

    async def _snapshot(self) -> None:
        """Store the present objects of the owner: the release has to end with them."""
        for kind in (self.workload, AUTOSCALERS, SERVICES, VIRTUAL_SERVICES, DESTINATION_RULES):
            key = self.key(kind)
            if key in self.recorder.state():
                self.expected[key] = copy.deepcopy(await self.client.get(path_of(key)))
        labels = self.expected[self.key(self.workload)]["metadata"].get("labels")
        if labels:
            labels.pop(WORKLOAD_TYPE, None)

    def expect_image(self, image: str, since: int = 0) -> None:
        """Note the image that the workload should end with, which somebody else than its owner wrote at `since`."""
        self._note("release", since or self._last, image)

    def _did(self, what: str, answer: JsonObject, image: str = "") -> None:
        self._note(what, int(answer["metadata"]["resourceVersion"]), image)

    def _note(self, what: str, revision: int, image: str = "") -> None:
        self.actions.append(UserAction(revision, what, image))
        self._last = revision
        if image:
            spec = self.expected[self.key(self.workload)]["spec"]
            spec["template"]["spec"]["containers"][0]["image"] = image

    # --- what is waited for ---------------------------------------------------------------------------

    async def until(
        self,
        kind: Kind,
        accepts: Callable[[JsonObject], bool],
        name: str = "",
        after: int = 0,
        seconds: float = RELEASE_SECONDS,
    ) -> Change:
        """Wait until `accepts` takes an object of ours, in a state after the revision `after`."""
        key = self.key(kind, name)
        try:
            return await self.recorder.until(
                lambda c: (
                    c.key == key
                    and c.type != "DELETED"
                    and c.resource_version >= max(after, self._since)
                    and accepts(c.object)
                ),
                seconds,
                self._mark,
            )
        except NotReady as late:
            raise NotReady(f"{late}\n{self.report()}") from late

    async def gone(self, kind: Kind, name: str = "") -> Change:
        """Wait for the deletion of an object."""
        key = self.key(kind, name)
        return await self.recorder.until(
            lambda c: c.key == key and c.type == "DELETED", since=self._mark
        )

    def pods(self) -> list[JsonObject]:
        """The pods of the application that there are now, of any revision."""
        return [
            pod
            for key, pod in self.recorder.state().items()
            if key.kind == PODS
            and key.namespace == self.app.namespace
            and pod["metadata"]["labels"].get("app") == self.app.name
        ]

    async def pods_ready(self) -> None:
        """Wait until all pods of the workload are ready."""
        await self.until(
            self.workload,
            lambda d: (
                available(d) == self.size
                and d["status"].get("observedGeneration") == d["metadata"]["generation"]
            ),
        )

    async def settled(self, step: int = 0) -> None:
        """Wait until the owner's number of pods is ready, which the counters of a held workload do not show."""
        if self.app.canary:
            await self.pods_ready()
            return
        least = most = self.size
        if self.app.blue_green:
            pods = self.app.steps[step - 1].pods
            least, most = least + min(pods, self.size), most + self._beside(pods)
        await self.recorder.until_state(lambda state: least <= self._ready_in(state) <= most)

    def _beside(self, pods: int) -> int:
        """The most new pods of a step after scaling: a Deployment's controller may divide the added pods."""
        if self.app.workload == "Deployment" or pods == self.app.replicas:
            return -(-pods * self.size // self.app.replicas)
        return min(pods, self.size)

    def _ready_in(self, state: Mapping[Key, JsonObject]) -> int:
        """Ready pods that some Service leads to: slices follow a little later."""
        here = {key: obj for key, obj in state.items() if key.namespace == self.app.namespace}
        led_to = {
            (endpoint.get("targetRef") or {}).get("name")
            for key, part in here.items()
            if key.kind == SLICES
            for endpoint in part.get("endpoints") or ()
            if endpoint["conditions"].get("ready")
        }
        return sum(
            1
            for key, pod in here.items()
            if key.kind == PODS and ready(pod) and pod["metadata"]["name"] in led_to
        )

    async def paused_at(self, step: int) -> Change:
        """Wait until the step waits for its approval."""
        return await self.rollout(lambda status: at(status, step, "StepPaused"))

    async def completed(self) -> Change:
        """Wait until the release has ended, with success or without."""
        return await self.rollout(
            lambda status: (
                status.get("phase") == "Healthy"
                and sub_status(status).get("finalisingStep") == "END"
            )
        )

    async def rollout(
        self, accepts: Callable[[JsonObject], bool], seconds: float = RELEASE_SECONDS
    ) -> Change:
        """Wait, after the last act, for a status of the Rollout that `accepts` takes."""
        return await self.until(
            ROLLOUTS, lambda r: accepts(r.get("status") or {}), after=self._last, seconds=seconds
        )

    async def status(self) -> JsonObject:
        """The Rollout's status as it is now."""
        found: JsonObject = (await self.client.get(path_of(self.key(ROLLOUTS))))["status"]
        return found

    async def event(self, reason: str) -> JsonObject:
        """Wait for an Event about the Rollout."""
        app = self.app
        found = await self.recorder.until(
            lambda c: (
                c.key.kind == EVENTS
                and c.key.namespace == app.namespace
                and c.object["involvedObject"].get("name") == app.name
                and c.object["reason"] == reason
            )
        )
        return found.object

    # --- the judgement --------------------------------------------------------------------------------

    async def violations(self, *, ended: bool = True) -> list[Violation]:
        """All violations at any revision so far."""
        await self.recorder.caught_up()
        history = self.recorder.history(self._mark)
        before = (Change(0, "EXISTED", key, obj) for key, obj in self._before.items())
        written = self._written()
        ours = {r.resource_version for r in written if r.user == CONTROLLER_USER}
        theirs = {r.resource_version for r in written} - ours
        found = judge(
            self.app,
            before,
            history,
            self.actions,
            instants(written, history, self._since),
            lambda change: change.resource_version in theirs,
        )
        if self._requests_judged:
            found += self._wrong_requests()
        if ended:
            found += judge_end(self.app, self.recorder.state(), self.expected)
        return found

    def _wrong_requests(self) -> list[Violation]:
        here = self.app.namespace
        asked = self.plane.audit.since(
            self._audit_mark, user=CONTROLLER_USER, where=lambda r: r.namespace == here
        )
        return [Violation(*item) for item in judge_requests(asked)]

    def times(self, history: tuple[Change, ...]) -> Times:
        """When changes were made, by the audit log."""
        return instants(self._written(), history, self._since)

    def _written(self) -> list[AuditRecord]:
        """The successful writes to the namespace."""
        return self.plane.audit.since(
            self._audit_mark,
            where=lambda r: r.is_write and r.code < 300 and r.namespace == self.app.namespace,
        )

    def report(self) -> str:
        """The newest state of our objects, for the text of a failure."""
        lines = [f"{action.revision} {action.what} {action.image}" for action in self.actions]
        for key, obj in self.recorder.state().items():
            if key.namespace != self.app.namespace or not key.name.startswith(self.app.name):
                continue
            if key.kind == ROLLOUTS:
                lines.append(f"status {obj.get('status')}")
            elif key.kind == self.workload:
                spec = {k: v for k, v in obj["spec"].items() if k != "template"}
                lines.append(f"{key.name} {obj['metadata'].get('annotations')} {spec}")
                lines.append(f"{obj.get('status')}")
            elif key.kind == EVENTS:
                lines.append(f"event {obj['reason']}: {obj['message']}")
        return "\n".join(lines)


async def conclude(story: Story) -> None:
    """Wait for the end of the release, and check every invariant."""
    await story.completed()
    assert_kept(await story.violations(), story)


def assert_kept(found: list[Violation], story: Story) -> None:
    """No violation; else the story so far."""
    assert not found, "\n".join(map(str, found)) + "\n" + story.report()
