"""Mistakes in a Rollout that its author hears of when it is applied."""

from dataclasses import replace

from localcluster.api import JsonObject
from localcluster.history import Change
from tests.cluster import manifests
from tests.cluster.gateways import INGRESSES
from tests.cluster.kinds import EVENTS, collection
from tests.cluster.manifests import NEW_IMAGE, STABLE_IMAGE
from tests.cluster.status_fields import condition
from tests.cluster.story import conclude
from tests.cluster.view import image_of
from tests.trouble import forms
from tests.trouble.forms import BLUE_GREEN, CANARY, DAEMON, FORMS, KRUISE, PACED, STATEFUL
from tests.trouble.scene import Scene
from tests.trouble.table import Message, Row, Trouble
from tests.trouble.why import UNDO, theirs

GRACE = 15
DEADLINE = 25
"""Seconds: less than two grace periods, and longer than the work of a step on a busy machine."""
NEVER_IN_TIME = 5
LONGER = (
    "kubectl patch rollout/shop --type merge -p "
    '\'{"spec":{"strategy":{"canary":{"progressDeadlineSeconds":600}}}}\''
)
PLACE = "spec.strategy.canary"
SAME_FIELDS = "admission compares the same fields for every kind of workload"
SAME_ROUTES = "Services and routes are the same for every kind of workload"
SAME_GATES = "gates are the same for every kind of workload"
OTHERS = (BLUE_GREEN, DAEMON, *KRUISE)


async def waits_longer_than_its_deadline_by_itself(scene: Scene) -> None:
    """A step waits for two grace periods, which together are longer than `progressDeadlineSeconds`. Time that Moonshift
    waits by itself does not count, so a good version is not given up, although `onDeadlineExceeded: Rollback` is set.
    """
    scene.app = replace(scene.app, grace=GRACE)
    await scene.install()
    body = forms.rollout(scene.app, progressDeadlineSeconds=DEADLINE, onDeadlineExceeded="Rollback")
    await scene.govern(body)
    await scene.release(NEW_IMAGE)
    await scene.paused_at(1)
    await scene.approve(1)
    await scene.moment()
    await scene.paused_at(2)
    await scene.approve(2)
    await conclude(scene)
    assert not [change for change in scene.recorder.history() if _is_late(scene, change)]


def _is_late(scene: Scene, change: Change) -> bool:
    if change.key.namespace != scene.app.namespace or change.type == "DELETED":
        return False
    if change.key.kind == EVENTS:
        return str(change.object["reason"]) == "RevisionGivenUp"
    found = condition(change.object.get("status") or {}, "Stalled")
    return found.get("reason") == "ProgressDeadlineExceeded"


async def has_pods_that_count_too_late(scene: Scene) -> None:
    """A pod counts after the `minReadySeconds` of its owner, which are not less than `progressDeadlineSeconds`: every
    step would be late. The author is warned. With a longer deadline the release goes through.
    """
    made = manifests.objects(scene.app)
    made[0]["spec"]["minReadySeconds"] = NEVER_IN_TIME
    await scene.create(*made)
    await scene.pods_ready()
    await _is_applied(scene, forms.rollout(scene.app, progressDeadlineSeconds=NEVER_IN_TIME))
    await scene.does(LONGER)
    await scene.release(NEW_IMAGE)
    await scene.approve_all()
    await conclude(scene)


async def _is_applied(scene: Scene, body: JsonObject) -> None:
    await scene.types("apply", "-f", "-", body=body)
    await scene.labelled()


async def is_led_to_by_another_ingress(scene: Scene) -> None:
    """ingress-nginx ties a canary Ingress to the Service, so another Ingress that leads to this Service gets the
    step's share, too. The author is warned. With a Service of its own, the other Ingress keeps all its requests on the
    old pods' side: the canary Ingress is about the named one only.
    """
    scene.app = replace(scene.app, virtual_service=False, other_routes=True)
    await scene.install()
    for name in ("shop", "edge"):
        await _put(scene, _ingress(name, "shop"))
    body = _led_by_an_ingress(scene)
    await _is_applied(scene, body)
    await scene.create(manifests.service(scene.app, "edge"))
    await scene.types("apply", "-f", "-", body=_ingress("edge", "edge"))
    before = len(scene.answers)
    body["metadata"]["annotations"] = {"owner.example/applied": "again"}
    await scene.types("apply", "-f", "-", body=body)
    assert not [answer for answer in scene.answers[before:] if answer.where == "warned"]
    await scene.release(NEW_IMAGE)
    await scene.paused_at(1)
    path = f"{collection(INGRESSES, scene.app.namespace)}/shop-canary"
    (rule,) = (await scene.client.get(path))["spec"]["rules"]
    assert rule["host"] == "shop.example"
    await scene.approve_all()
    await conclude(scene)


async def _put(scene: Scene, ingress: JsonObject) -> None:
    await scene.types("apply", "-f", "-", body=ingress)


def _ingress(name: str, service: str) -> JsonObject:
    backend = {"service": {"name": service, "port": {"number": 80}}}
    path = {"path": "/", "pathType": "Prefix", "backend": backend}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": name},
        "spec": {
            "ingressClassName": "nginx",
            "rules": [{"host": f"{name}.example", "http": {"paths": [path]}}],
        },
    }


def _led_by_an_ingress(scene: Scene) -> JsonObject:
    body = forms.rollout(scene.app)
    (plan,) = body["spec"]["strategy"].values()
    route = {"service": "shop", "gracePeriodSeconds": 1, "ingress": {"name": "shop"}}
    plan["trafficRoutings"] = [route]
    return body


async def has_a_gate_that_cannot_be_measured(scene: Scene) -> None:
    """A metric of a gate uses an argument that has no value, so it could never be measured. The author is warned, and
    no release begins. When the Rollout gives the argument a value, the release begins by itself.
    """
    await scene.install()
    body = forms.rollout(scene.app)
    (plan,) = body["spec"]["strategy"].values()
    plan["steps"][1]["analysis"] = {"metrics": [_metric()]}
    await _is_applied(scene, body)
    await scene.release(NEW_IMAGE)
    await scene.stalled("InvalidAnalysis")
    assert NEW_IMAGE not in map(image_of, scene.pods())
    await scene.is_explained()
    await scene.moment()
    plan["steps"][1]["analysis"]["args"] = [{"name": "team", "value": "shop"}]
    await scene.follows("kubectl edit rollout shop", scene.types("apply", "-f", "-", body=body))
    await scene.goes_on()
    await scene.paused_at(1)
    await scene.release(STABLE_IMAGE)
    await conclude(scene)


def _metric() -> JsonObject:
    return {
        "name": "errors",
        "web": {"url": "https://metrics.example/{{ args.team }}", "valuePath": "rate"},
        "success": {"max": 0.05},
        "interval": "5s",
        "count": 1,
    }


TROUBLES = (
    Trouble(
        "short-deadline",
        "`progressDeadlineSeconds` is shorter than the waits of a step",
        (
            Row(
                waits_longer_than_its_deadline_by_itself,
                (),
                ("nothing",),
                played=FORMS,
                killed=(PACED,),
            ),
            Row(
                has_pods_that_count_too_late,
                (
                    Message(
                        "warned",
                        "spec.workloadRef: <Kind> <namespace>/shop has minReadySeconds: 5, so no step is ready within "
                        "progressDeadlineSeconds: 5; make progressDeadlineSeconds longer than that",
                    ),
                ),
                (LONGER,),
                played=(PACED, CANARY, STATEFUL),
                derived={OTHERS: SAME_FIELDS},
            ),
        ),
    ),
    Trouble(
        "other-ingress",
        "Another Ingress leads to the same Service",
        (
            Row(
                is_led_to_by_another_ingress,
                (
                    Message(
                        "warned",
                        f"{PLACE}.trafficRoutings[0].ingress.name: Ingress <namespace>/edge leads to Service shop, "
                        "too, and this Rollout does not name it: ingress-nginx divides its requests, too; lead it to a "
                        "Service of its own if it should not follow the steps",
                    ),
                ),
                ("lead the other Ingress to a Service of its own",),
                played=(CANARY, PACED),
                derived={(STATEFUL, *OTHERS): SAME_ROUTES},
            ),
        ),
    ),
    Trouble(
        "gate-mistake",
        "A gate cannot be measured as it is written",
        (
            Row(
                has_a_gate_that_cannot_be_measured,
                (
                    Message(
                        "warned",
                        f"{PLACE}.steps[1].analysis.metrics[0].web: {{{{ args.team }}}} has no value: no release "
                        "begins with it; give it as an argument (args), or use one of <words>",
                    ),
                    Message(
                        "Stalled InvalidAnalysis",
                        "the gate of step 2: metric errors: {{ args.team }} has no value here; known are <words>",
                    ),
                ),
                ("give the argument a value in the Rollout",),
                why=(theirs("edit rollout shop", "correct the Rollout"), UNDO),
                played=(PACED, CANARY, STATEFUL),
                derived={OTHERS: SAME_GATES},
            ),
        ),
    ),
)
