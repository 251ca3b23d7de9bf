"""The CRDs on a real API server: accepted objects, refused objects with their texts, defaults, conversion."""

import copy
from typing import Any

import pytest
import yaml

from localcluster.errors import CommandFailed, RequestRefused
from localcluster.plane import Plane
from tests.articles import ARTICLE, BATCHES_OF_A_STATEFUL_SET, ROUTE_OF_THE_GATEWAY_API
from tests.cluster.admission.installed import write_status

Json = dict[str, Any]

BETA = "/apis/rollouts.kruise.io/v1beta1/namespaces/default/rollouts"
ALPHA = "/apis/rollouts.kruise.io/v1alpha1/namespaces/default/rollouts"


_names = iter(range(10_000))


def beta(strategy: Json, **spec: object) -> Json:
    name = f"r{next(_names)}"
    workload = {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"web-{name}"}
    return {
        "apiVersion": "rollouts.kruise.io/v1beta1",
        "kind": "Rollout",
        "metadata": {"name": name},
        "spec": {"workloadRef": workload, "strategy": strategy, **spec},
    }


def canary(*steps: Json, **fields: object) -> Json:
    return beta({"canary": {"steps": list(steps), **fields}})


def routed(**entry: object) -> Json:
    return canary({"replicas": 1}, trafficRoutings=[{"service": "web", **entry}])


def matching(**match: object) -> Json:
    return canary({"replicas": 1, "matches": [match]})


ACCEPTED = [
    pytest.param(
        canary({"replicas": 1}, {"replicas": "50%"}, {"replicas": "100%"}), id="mixed-steps"
    ),
    pytest.param(canary({"replicas": 500}), id="many-replicas"),
    pytest.param(canary({"replicas": "50%", "traffic": "100%"}), id="limit-is-on-replicas"),
    pytest.param(
        canary({"replicas": 1, "traffic": "50%"}, {"replicas": 2, "traffic": "20%"}),
        id="traffic-down",
    ),
    pytest.param(
        canary({"replicas": "51%", "traffic": "10%"}, enableExtraWorkloadForCanary=True), id="extra"
    ),
    pytest.param(
        beta({"blueGreen": {"steps": [{"replicas": "100%", "traffic": "0%"}]}}), id="blue-green"
    ),
    pytest.param(
        canary({"replicas": 1, "pause": {"duration": 0}}, failureThreshold="20%"), id="threshold"
    ),
    pytest.param(routed(customNetworkRefs=[]), id="no-references"),
    pytest.param(
        routed(ingress={"name": "i", "classType": "alb"}, gracePeriodSeconds=0), id="ingress"
    ),
    pytest.param(routed(gateway={"httpRouteName": "h"}), id="gateway"),
    pytest.param(
        routed(
            customNetworkRefs=[
                {
                    "apiVersion": "x/v1",
                    "kind": "K",
                    "name": "n",
                    "script": "configMap",
                    "params": {"scale": 100, "deep": {"list": [1, "a", None]}},
                }
            ]
        ),
        id="script-and-parameters",
    ),
    pytest.param(
        canary(
            {"replicas": 1},
            trafficRoutings=[
                {"service": name, "gateway": {"httpRouteName": name}} for name in ("a", "b")
            ],
        ),
        id="two-entries",
    ),
    pytest.param(matching(path={"value": "/v2"}, method="GET"), id="path-and-method"),
    pytest.param(
        matching(path={"type": "RegularExpression", "value": "^v//"}), id="path-expression"
    ),
    pytest.param(matching(headers=[{"name": "x-user", "value": "a"}]), id="header"),
    pytest.param(
        canary(
            {
                "replicas": 1,
                "requestHeaderModifier": {
                    "set": [{"name": "a", "value": "b"}],
                    "remove": ["c"],
                },
            }
        ),
        id="header-modifier",
    ),
]

REFUSED = [
    pytest.param(canary({"replicas": "50"}), "steps[0].replicas", id="percent-without-sign"),
    pytest.param(canary({"replicas": "0%"}), "steps[0].replicas", id="zero-percent"),
    pytest.param(canary({"replicas": "101%"}), "steps[0].replicas", id="above-hundred"),
    pytest.param(canary({"replicas": 0}), "steps[0].replicas", id="zero"),
    pytest.param(canary({"traffic": "5%"}), "steps[0].replicas: Required", id="no-replicas"),
    pytest.param(canary(), "spec.strategy.canary.steps: Required", id="no-steps"),
    pytest.param(canary(*[{"replicas": 1}] * 51), "at most 50 items", id="too-many-steps"),
    pytest.param(
        canary({"replicas": "50%"}, {"replicas": "20%"}), "steps[1].replicas", id="going-down"
    ),
    pytest.param(canary({"replicas": "51%", "traffic": "10%"}), "51% is more than 50%", id="limit"),
    pytest.param(canary({"replicas": 1, "traffic": "0%"}), "steps[0].traffic", id="no-traffic"),
    pytest.param(beta({}), "exactly one of canary and blueGreen", id="no-strategy"),
    pytest.param(
        beta({"canary": {"steps": [{"replicas": 1}]}, "blueGreen": {"steps": [{"replicas": 1}]}}),
        "exactly one of canary and blueGreen",
        id="two-strategies",
    ),
    pytest.param(routed(), "one of ingress, gateway and customNetworkRefs", id="only-a-service"),
    pytest.param(routed(gateway={}), "gateway.httpRouteName", id="gateway-without-name"),
    pytest.param(
        routed(
            customNetworkRefs=[{"apiVersion": "x/v1", "kind": "K", "name": "n", "script": "mine"}]
        ),
        "customNetworkRefs[0].script",
        id="unknown-script-choice",
    ),
    pytest.param(
        canary({"replicas": 1, "traffic": 20}),
        'a share is a percentage with its sign: write 20%","field":"spec.strategy.canary.steps[0].traffic"',
        id="share-without-its-sign",
    ),
    pytest.param(
        beta({"blueGreen": {"steps": [{"replicas": 1, "traffic": 20}]}}),
        'a share is a percentage with its sign: write 20%","field":"spec.strategy.blueGreen.steps[0].traffic"',
        id="blue-green-share-without-its-sign",
    ),
    pytest.param(matching(path={"value": "v2"}), "begins with '/'", id="path-without-slash"),
    pytest.param(matching(path={"value": "/a//b"}), "no '//'", id="path-with-two-slashes"),
    pytest.param(
        matching(path={"type": "Exact", "value": "/a/.."}), "'/..'", id="path-that-goes-up"
    ),
    pytest.param(matching(path={"value": "/a b"}), "only characters", id="path-with-a-space"),
    pytest.param(
        matching(headers=[{"name": "a b", "value": "x"}]), "headers[0].name", id="header-name"
    ),
    pytest.param(
        matching(headers=[{"name": "a", "value": ""}]), "headers[0].value", id="header-value"
    ),
    pytest.param(
        matching(headers=[{"name": "a", "value": "x"}] * 2), "Duplicate value", id="header-twice"
    ),
    pytest.param(matching(method="FETCH"), "method", id="unknown-method"),
    pytest.param(
        {
            **(made := canary({"replicas": 1})),
            "spec": {
                **made["spec"],
                "workloadRef": {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "x"},
            },
        },
        "a ReplicaSet has no revisions",
        id="replica-set",
    ),
]


@pytest.mark.parametrize("manifest", ACCEPTED)
async def test_accepted(own_plane: Plane, manifest: Json) -> None:
    stored = await own_plane.client().create(BETA, manifest)
    assert stored["spec"]["disabled"] is False
    assert stored["status"] == {"observedGeneration": -1}, "nobody has looked at it yet"


@pytest.mark.parametrize(("manifest", "text"), REFUSED)
async def test_refused_with_the_field(own_plane: Plane, manifest: Json, text: str) -> None:
    with pytest.raises(RequestRefused) as refused:
        await own_plane.client().create(BETA, manifest)
    assert text in str(refused.value)


async def test_the_older_version_has_no_traffic_and_a_weight_without_a_sign(
    own_plane: Plane,
) -> None:
    weighted = yaml.safe_load(BATCHES_OF_A_STATEFUL_SET)
    weighted["metadata"]["name"] = f"r{next(_names)}"
    steps = weighted["spec"]["strategy"]["canary"]["steps"]
    steps[:] = [{"replicas": 1, "traffic": 20}]
    with pytest.raises(
        CommandFailed, match=r'unknown field "spec.strategy.canary.steps\[0\].traffic"'
    ):
        await own_plane.kubectl("create", "-f", "-", input=yaml.safe_dump(weighted))
    steps[:] = [{"weight": "20%"}]
    with pytest.raises(CommandFailed, match=r"steps\[0\].weight in body must be of type integer"):
        await own_plane.kubectl("create", "-f", "-", input=yaml.safe_dump(weighted))


async def test_defaults_are_the_originals(own_plane: Plane) -> None:
    obj = canary(
        {
            "replicas": 1,
            "matches": [
                {
                    "path": {},
                    "headers": [{"name": "a", "value": "b"}],
                    "queryParams": [{"name": "a", "value": "b"}],
                }
            ],
        },
        trafficRoutings=[{"service": "web", "ingress": {"name": "i"}}],
    )
    plan = (await own_plane.client().create(BETA, obj))["spec"]["strategy"]["canary"]
    match = plan["steps"][0]["matches"][0]
    assert plan["trafficRoutings"][0]["gracePeriodSeconds"] == 3
    assert match["path"] == {"type": "PathPrefix", "value": "/"}
    assert match["headers"][0]["type"] == match["queryParams"][0]["type"] == "Exact"


async def test_parameters_are_stored_as_they_are(own_plane: Plane) -> None:
    parameters = {"scale": 100, "deep": {"list": [1, "a", None], "big": 9007199254740993}}
    reference = {"apiVersion": "x/v1", "kind": "K", "name": "n", "params": parameters}
    stored = await own_plane.client().create(BETA, routed(customNetworkRefs=[reference]))
    entry = stored["spec"]["strategy"]["canary"]["trafficRoutings"][0]
    assert entry["customNetworkRefs"][0]["params"] == parameters


async def test_the_articles_manifest_applies_as_printed(own_plane: Plane) -> None:
    await own_plane.apply(ARTICLE)
    # No controller writes a status here: the next write of any kind stores the default one.
    await own_plane.apply(ARTICLE)
    alpha = await own_plane.client().get(f"{ALPHA}/rollouts-demo")
    assert alpha["metadata"]["generation"] == 1
    await own_plane.apply(ARTICLE)
    again = await own_plane.client().get(f"{ALPHA}/rollouts-demo")
    assert again["metadata"]["resourceVersion"] == alpha["metadata"]["resourceVersion"]
    printed = yaml.safe_load(ARTICLE)["spec"]
    printed["strategy"]["canary"]["trafficRoutings"][0]["gracePeriodSeconds"] = 3
    assert alpha["spec"] == printed
    stored = (await own_plane.client().get(f"{BETA}/rollouts-demo"))["spec"]["strategy"]["canary"]
    assert stored["disableGenerateCanaryService"] is True
    assert stored["enableExtraWorkloadForCanary"] is True
    assert stored["steps"][0] == {"traffic": "20%", "replicas": "20%"}
    assert len(stored["trafficRoutings"][0]["customNetworkRefs"]) == 2


async def test_the_other_articles_manifests_apply_as_printed(own_plane: Plane) -> None:
    await own_plane.apply(ROUTE_OF_THE_GATEWAY_API)
    await own_plane.apply(BATCHES_OF_A_STATEFUL_SET)
    routed = (await own_plane.client().get(f"{BETA}/rollouts-demo-route"))["spec"]
    (entry,) = routed["strategy"]["canary"]["trafficRoutings"]
    assert (entry["service"], entry["gateway"]) == ("echoserver", {"httpRouteName": "echoserver"})
    assert routed["strategy"]["canary"]["steps"] == [
        {"traffic": "20%", "replicas": "20%", "pause": {}}
    ]
    batches = await own_plane.client().get(f"{ALPHA}/rollouts-demo-batches")
    assert batches["spec"]["rolloutID"] == "v1"
    assert [step["replicas"] for step in batches["spec"]["strategy"]["canary"]["steps"]] == [
        1,
        2,
        2,
    ]


async def test_an_approval_through_v1alpha1_changes_nothing_else(own_plane: Plane) -> None:
    client = own_plane.client()
    obj = matching(path={"value": "/new"})
    name = obj["metadata"]["name"]
    await client.create(BETA, obj)
    status = {
        "observedGeneration": 1,
        "phase": "Progressing",
        "currentStepIndex": 1,
        "currentStepState": "StepPaused",
        "canaryStatus": {
            "currentStepIndex": 1,
            "currentStepState": "StepPaused",
            "lastUpdateTime": None,
        },
        "moonshift": {"step": 1, "state": "StepPaused", "stableRevision": "abc"},
    }
    before = await write_status(own_plane, f"{BETA}/{name}", status)
    body = {"status": {"canaryStatus": {"currentStepState": "StepReady"}}}
    await client.patch(f"{ALPHA}/{name}/status", body)
    after = await client.get(f"{BETA}/{name}")
    assert after["spec"] == before["spec"]
    assert after["status"]["canaryStatus"]["currentStepState"] == "StepReady"
    assert after["status"]["currentStepState"] == "StepPaused"
    assert after["status"]["moonshift"]["stableRevision"] == "abc"
    approvals = after["status"]["moonshift"]["approvals"]
    assert [(entry["step"], entry["by"]) for entry in approvals] == [(1, "admin")]


async def test_blue_green_survives_an_edit_through_v1alpha1(own_plane: Plane) -> None:
    client = own_plane.client()
    obj = beta({"blueGreen": {"steps": [{"replicas": "100%", "traffic": "0%"}]}})
    name = obj["metadata"]["name"]
    before = await client.create(BETA, obj)
    read = await client.get(f"{ALPHA}/{name}")
    assert "canary" not in read["spec"]["strategy"]
    written = copy.deepcopy(read)
    written["metadata"]["labels"] = {"team": "a"}
    await client.replace(f"{ALPHA}/{name}", written)
    after = await client.get(f"{BETA}/{name}")
    assert after["spec"] == before["spec"]
    written["metadata"]["resourceVersion"] = after["metadata"]["resourceVersion"]
    del written["metadata"]["annotations"]
    with pytest.raises(
        RequestRefused, match=r"spec\.strategy\.canary: Required value: says how to release"
    ):
        await client.replace(f"{ALPHA}/{name}", written)


async def test_v1alpha1_accepts_as_many_steps_and_matches_as_the_original(own_plane: Plane) -> None:
    client = own_plane.client()
    obj = yaml.safe_load(ARTICLE)
    name = obj["metadata"]["name"] = f"r{next(_names)}"
    obj["spec"]["objectRef"]["workloadRef"]["name"] = name
    headers = [{"headers": [{"name": "user", "value": f"u{n}"}]} for n in range(20)]
    steps = [*({"weight": n} for n in range(1, 61)), {"replicas": 70, "matches": headers}]
    obj["spec"]["strategy"]["canary"]["steps"] = steps
    await client.create(ALPHA, obj)
    status = await write_status(own_plane, f"{BETA}/{name}", {"phase": "Healthy"})
    assert status["status"]["phase"] == "Healthy"
    labelled = await client.patch(f"{BETA}/{name}", {"metadata": {"labels": {"team": "a"}}})
    stored = labelled["spec"]["strategy"]["canary"]["steps"]
    assert [step.get("traffic") for step in stored[:60]] == [f"{n}%" for n in range(1, 61)]
    assert len(stored[60]["matches"]) == 20


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        (("canary", "disableGenerateCanaryService"), True, "says the same as canary"),
        (("entry", "customNetworkRefs"), [], "another name of customNetworkRefs"),
    ],
)
async def test_an_alias_beside_its_own_name_is_refused(
    own_plane: Plane, path: tuple[str, str], value: object, text: str
) -> None:
    obj = yaml.safe_load(ARTICLE)
    obj["metadata"]["name"] = f"r{next(_names)}"
    obj["spec"]["objectRef"]["workloadRef"]["name"] = obj["metadata"]["name"]
    plan = obj["spec"]["strategy"]["canary"]
    (plan if path[0] == "canary" else plan["trafficRoutings"][0])[path[1]] = value
    with pytest.raises(RequestRefused, match=text):
        await own_plane.client().create(ALPHA, obj)


async def test_columns_are_the_originals(own_plane: Plane) -> None:
    crd = await own_plane.client().get(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/rollouts.rollouts.kruise.io"
    )
    for version in crd["spec"]["versions"]:
        names = [column["name"] for column in version["additionalPrinterColumns"]]
        assert names == ["STATUS", "CANARY_STEP", "CANARY_STATE", "MESSAGE", "AGE"]


async def test_the_other_kinds_are_served(own_plane: Plane) -> None:
    client = own_plane.client()
    base = "/apis/rollouts.kruise.io/v1alpha1/namespaces/default"
    routing = {
        "apiVersion": "rollouts.kruise.io/v1alpha1",
        "kind": "TrafficRouting",
        "metadata": {"name": "t"},
        "spec": {
            "objectRef": [{"service": "web", "ingress": {"name": "i"}}],
            "strategy": {
                "weight": 20,
                "matches": [{"path": {"value": "/v"}, "headers": [{"name": "a", "value": "b"}]}],
            },
        },
    }
    stored = await client.create(f"{base}/trafficroutings", routing)
    assert stored["spec"]["objectRef"][0]["gracePeriodSeconds"] == 3
    history = {
        "apiVersion": "rollouts.kruise.io/v1alpha1",
        "kind": "RolloutHistory",
        "metadata": {"name": "h"},
        "spec": {"rollout": {"rolloutID": "1", "name": "r", "data": {"any": [1]}}},
    }
    stored = await client.create(f"{base}/rollouthistories", history)
    assert stored["spec"]["rollout"]["data"] == {"any": [1]}
