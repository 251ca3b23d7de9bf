"""Missing parts of a release: a controller, the script worker, a script, a metric source."""

from collections.abc import Callable

from localcluster.api import JsonObject
from localcluster.history import Change, Kind
from localcluster.process import Component
from tests.cluster import gateways, invented, manifests
from tests.cluster.kinds import ROLLOUTS, collection
from tests.cluster.manifests import NEW_IMAGE
from tests.cluster.story import conclude
from tests.cluster.view import image_of
from tests.trouble import forms
from tests.trouble.forms import BLUE_GREEN, CANARY, DAEMON, KRUISE, PACED, STATEFUL
from tests.trouble.scene import Scene
from tests.trouble.table import Message, Row, Trouble
from tests.trouble.why import UNDO, ours

SAME = "this part is the same for every kind of workload"
OTHERS = (CANARY, BLUE_GREEN, STATEFUL, DAEMON, *KRUISE)
LEASE_IS_OLD_AFTER = 33.0
"""Seconds: a Lease that was not renewed for half a minute counts as abandoned."""
SCRIPTLESS = gateways.definition("lanes.example.dev", "Lane", "lanes", ["v1"])
ABANDONED = (
    "no controller is at work: the Lease kruise-rollout/71ddec2c.kruise.io was renewed <seconds> ago for the last "
    "time; look at the pods of namespace kruise-rollout"
)
SCRIPTS = (
    "kubectl create configmap kruise-rollout-configuration "
    "--from-file=lua.traffic.routing.Lane.lanes.example.dev=FILE -n kruise-rollout  # FILE: the script of this kind"
)
METRICS = "https://metrics.example"


async def has_no_controller(scene: Scene) -> None:
    """Pods and routes stay as they are. When a controller runs again, the release continues at its step."""
    await scene.begin()
    await scene.reach(1)
    await _without(scene.running.controller, scene)
    await scene.approve(1)
    await scene.paused_at(2)
    await scene.approve(2)
    await conclude(scene)


async def _without(component: Component, scene: Scene) -> None:
    await component.kill()
    try:
        await scene.never(LEASE_IS_OLD_AFTER, _of(scene))
        await scene.is_explained(user="admin")
    finally:
        await component.start()


def _of(scene: Scene) -> Callable[[Change], bool]:
    return lambda change: change.key == scene.key(ROLLOUTS)


async def has_no_script_worker(scene: Scene) -> None:
    """No route can be computed, so none is changed. The new pods of the step are created, and the release continues by
    itself when a worker answers.
    """
    await scene.begin()
    await scene.reach(1)
    await scene.running.worker.kill()
    try:
        await scene.approve(1)
        await scene.stalled("WorkerUnavailable")
        await scene.is_explained()
    finally:
        await scene.running.worker.start()
    await scene.goes_on()
    await scene.paused_at(2)
    await scene.approve(2)
    await conclude(scene)


async def has_no_script(scene: Scene) -> None:
    """No script says how this kind divides traffic. The release does not begin, and nothing is changed; the message
    names the missing key of the ConfigMap.
    """
    right = invented.right()
    right["metadata"]["name"] = "lanes"
    right["rules"][0] |= {"apiGroups": ["lanes.example.dev"], "resources": ["lanes"]}
    await invented.install(scene.plane, SCRIPTLESS, right)
    await scene.create(*(o for o in manifests.objects(scene.app) if o["kind"] != "VirtualService"))
    lane = invented.route("Lane", "shop", scene.app.namespace)
    lane["apiVersion"] = "lanes.example.dev/v1"
    kind = Kind("lanes.example.dev", "v1", "lanes")
    await scene.client.create(collection(kind, scene.app.namespace), lane)
    await scene.pods_ready()
    body = forms.rollout(scene.app)
    (plan,) = body["spec"]["strategy"].values()
    reference = {"apiVersion": "lanes.example.dev/v1", "kind": "Lane", "name": "shop"}
    plan["trafficRoutings"][0]["customNetworkRefs"] = [reference]
    await scene.govern(body)
    await scene.release(NEW_IMAGE)
    await scene.stalled("ScriptNotFound")
    await scene.is_explained()
    assert NEW_IMAGE not in map(image_of, scene.pods())
    await scene.goes_back()
    await scene.completed()


async def may_not_ask_its_metric_source(scene: Scene) -> None:
    """The administrator has not allowed this address, so no request is sent. The gate gives no verdict, and the step
    waits for a person, who may approve it nevertheless.
    """
    body = forms.rollout(scene.app)
    (plan,) = body["spec"]["strategy"].values()
    plan["steps"][0]["analysis"] = {"metrics": [_metric()]}
    await scene.install()
    await scene.govern(body)
    await scene.release(NEW_IMAGE)
    await scene.stalled("AnalysisInconclusive")
    await scene.is_explained()
    await scene.goes_back()
    await conclude(scene)


def _metric() -> JsonObject:
    return {
        "name": "errors",
        "web": {"url": f"{METRICS}/errors", "valuePath": "rate"},
        "success": {"max": 0.05},
        "interval": "1s",
        "count": 1,
        "consecutiveErrorLimit": 0,
    }


TROUBLES = (
    Trouble(
        "controller-gone",
        "No controller is at work",
        (
            Row(
                has_no_controller,
                (),
                ("start the controller again",),
                why=(
                    "waits for an approval",
                    f"! {ABANDONED}",
                    "kubectl get pods -n kruise-rollout  # whether the controller's pods run",
                ),
                played=(PACED,),
                alone=True,
                derived={OTHERS: SAME},
            ),
        ),
    ),
    Trouble(
        "worker-gone",
        "No script worker is at work",
        (
            Row(
                has_no_script_worker,
                (
                    Message(
                        "Stalled WorkerUnavailable",
                        "VirtualService <namespace>/shop: script <script> could not be run: <why>; no gateway object "
                        "is touched meanwhile",
                    ),
                ),
                ("start the worker again",),
                why=("kubectl get pods -n kruise-rollout  # whether the script worker's pods run",),
                played=(PACED,),
                alone=True,
                derived={OTHERS: SAME},
            ),
        ),
    ),
    Trouble(
        "script-missing",
        "There is no script for the gateway kind",
        (
            Row(
                has_no_script,
                (
                    Message(
                        "Stalled ScriptNotFound", "Lane <namespace>/shop: <where it was looked for>"
                    ),
                ),
                ("add the script, or name another gateway object",),
                why=(
                    SCRIPTS,
                    UNDO,
                ),
                played=(PACED,),
                often=(PACED,),
                derived={OTHERS: SAME},
            ),
        ),
    ),
    Trouble(
        "metric-source",
        "A gate's metric source may not be asked",
        (
            Row(
                may_not_ask_its_metric_source,
                (
                    Message(
                        "Stalled AnalysisInconclusive",
                        f"the metrics of step(1) give no verdict: <metric> {METRICS} is not among the addresses that "
                        "gates of namespace <namespace> may ask: the administrator names them with --analysis-allow"
                        "<what may be done>",
                    ),
                ),
                ("name the address with `--analysis-allow`, then `kubectl moonshift retry shop`",),
                why=(UNDO, ours("approve", "go on nevertheless")),
                played=(PACED,),
                often=(PACED,),
                derived={OTHERS: SAME},
            ),
        ),
    ),
)
