"""The objects and values that must be in the cluster at each point of the story, literally.

Why it exists: values that come from the code under test would prove nothing. Invariant: expected values are written out
here, or were in the cluster before the product touched it. It must do no I/O.
"""

import copy

from demo.claims import Claim, equal, true
from demo.snapshot import APPLIED, Snapshot
from demo.world import home_page, is_ready, labels_of, name_of
from localcluster.api import JsonObject

VIRTUAL_SERVICE = "VirtualService nginx-vs"
DESTINATION_RULE = "DestinationRule nginx-dr"
DEPLOYMENT = "Deployment nginx-deployment"
BASE_PAGE, CANARY_PAGE = "nginx-configmap-base", "nginx-configmap-canary"

BASE_RULE = {"route": [{"destination": {"host": "nginx-service", "subset": "version-base"}}]}
ORIGINAL_VIRTUAL_SERVICE = {"hosts": ["*"], "gateways": ["nginx-gateway"], "http": [BASE_RULE]}
ORIGINAL_DESTINATION_RULE = {
    "host": "nginx-service",
    "trafficPolicy": {"loadBalancer": {"simple": "ROUND_ROBIN"}},
    "subsets": [{"name": "version-base", "labels": {"version": "base"}}],
}
WEIGHTED_HTTP = [
    {
        "route": [
            {"destination": {"host": "nginx-service", "subset": "version-base"}, "weight": 80},
            {"destination": {"host": "nginx-service", "subset": "canary"}, "weight": 20},
        ]
    }
]
HEADER_HTTP = [
    {
        "match": [{"headers": {"version": {"exact": "canary"}}}],
        "route": [{"destination": {"host": "nginx-service", "subset": "canary"}}],
    },
    BASE_RULE,
]
CANARY_SUBSETS = [
    {"name": "version-base", "labels": {"version": "base"}},
    {"name": "canary", "labels": {"version": "canary"}},
]
MARK_OF_A_ROLLOUT = {"rollouts.kruise.io/workload-type": "deployment"}


def as_applied(seen: Snapshot) -> list[Claim]:
    """The application before there is a Rollout."""
    return [
        equal(
            "the VirtualService is as app.yaml has it",
            seen.spec(VIRTUAL_SERVICE),
            ORIGINAL_VIRTUAL_SERVICE,
        ),
        equal(
            "the DestinationRule is as app.yaml has it",
            seen.spec(DESTINATION_RULE),
            ORIGINAL_DESTINATION_RULE,
        ),
        _pods("one pod shows the base page", seen, [(BASE_PAGE, "base")]),
    ]


def under_a_rollout(seen: Snapshot, before: Snapshot) -> list[Claim]:
    """A Rollout alone changes nothing but the mark on its workload."""
    return [
        *_untouched(seen, before),
        equal(
            "the Deployment carries the mark of a workload under a Rollout, and nothing else",
            seen.owners_part(DEPLOYMENT),
            {**before.owners_part(DEPLOYMENT), "labels": MARK_OF_A_ROLLOUT},
        ),
        equal("the pod is the same", _uids(seen), _uids(before)),
    ]


def at_step_one(seen: Snapshot, before: Snapshot) -> list[Claim]:
    """20 % of the requests go to one new pod."""
    new = _new_pods(seen)
    return [
        equal(
            "the VirtualService sends 80 to version-base and 20 to canary",
            seen.spec(VIRTUAL_SERVICE),
            {**ORIGINAL_VIRTUAL_SERVICE, "http": WEIGHTED_HTTP},
        ),
        _with_canary_subset(seen),
        _pods("one new pod runs beside the old one", seen, [*_BOTH]),
        true(
            "the old pod is the one of before",
            set(_uids(before)) <= set(_uids(seen)),
            f"{_uids(before)} is not among {_uids(seen)}",
        ),
        equal(
            "the new pod carries the number of its batch",
            [labels_of(pod).get("rollouts.kruise.io/rollout-batch-id") for pod in new],
            ["1"],
        ),
        equal("no Service was added", seen.services, before.services),
    ]


def at_step_two(seen: Snapshot, first: Snapshot) -> list[Claim]:
    """Requests with the header go to the new pod, all others to the old one."""
    return [
        equal(
            "the VirtualService sends requests with `version: canary` to canary, "
            "and below stands the rule of before",
            seen.spec(VIRTUAL_SERVICE),
            {**ORIGINAL_VIRTUAL_SERVICE, "http": HEADER_HTTP},
        ),
        _with_canary_subset(seen),
        equal("the pods are the same two", _uids(seen), _uids(first)),
        _pods("both pods are ready", seen, [*_BOTH]),
    ]


def at_the_end(seen: Snapshot, before: Snapshot) -> list[Claim]:
    """Everything is new, and nothing is left of the release."""
    return [
        _pods("one pod shows the canary page", seen, [(CANARY_PAGE, "base")]),
        *_untouched(seen, before),
        equal(
            "the Deployment has the new template and no trace of the release",
            _without_revision(seen.owners_part(DEPLOYMENT)),
            _released(before.owners_part(DEPLOYMENT)),
        ),
        equal("no field manager of ours is left", sorted(seen.managers() & {"moonshift"}), []),
        equal("the canary Deployment is gone", seen.deployments, before.deployments),
        equal("no Service was left", seen.services, before.services),
    ]


_BOTH = ((BASE_PAGE, "base"), (CANARY_PAGE, "canary"))


def _with_canary_subset(seen: Snapshot) -> Claim:
    return equal(
        "the DestinationRule has one more subset: canary, labels {version: canary}",
        seen.spec(DESTINATION_RULE),
        {**ORIGINAL_DESTINATION_RULE, "subsets": CANARY_SUBSETS},
    )


def _untouched(seen: Snapshot, before: Snapshot) -> list[Claim]:
    """Claim that routes, and all objects except the Deployment, have not changed."""
    routes = [VIRTUAL_SERVICE, DESTINATION_RULE]
    others = [name for name in APPLIED if name not in (*routes, DEPLOYMENT)]
    groups = [*([name] for name in routes), others]
    return [
        equal(
            f"exactly as before: {', '.join(names)}",
            {name: seen.owners_part(name) for name in names},
            {name: before.owners_part(name) for name in names},
        )
        for names in groups
    ]


def _pods(text: str, seen: Snapshot, expected: list[tuple[str, str]]) -> Claim:
    """Claim that the pods are these (home page, label version), all ready."""
    found = sorted((home_page(p), labels_of(p).get("version", ""), is_ready(p)) for p in seen.pods)
    wanted = [(page, version, True) for page, version in sorted(expected)]
    return equal(text, [list(row) for row in found], [list(row) for row in wanted])


def _new_pods(seen: Snapshot) -> list[JsonObject]:
    return [pod for pod in seen.pods if home_page(pod) == CANARY_PAGE]


def _uids(seen: Snapshot) -> list[str]:
    return [str(pod["metadata"]["uid"]) for pod in sorted(seen.pods, key=name_of)]


def _without_revision(part: JsonObject) -> JsonObject:
    """Leave out the fields that `kubectl apply` and the Deployment controller write at a release."""
    result = copy.deepcopy(part)
    for key in (
        "deployment.kubernetes.io/revision",
        "kubectl.kubernetes.io/last-applied-configuration",
    ):
        result["annotations"].pop(key, None)
    return result


def _released(part: JsonObject) -> JsonObject:
    """The Deployment of app.yaml after change.yaml: the other ConfigMap, and the mark of a Rollout."""
    result = _without_revision(part)
    for volume in result["spec"]["template"]["spec"]["volumes"]:
        volume["configMap"]["name"] = CANARY_PAGE
    result["labels"] = {**result["labels"], **MARK_OF_A_ROLLOUT}
    return result
