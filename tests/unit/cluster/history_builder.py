"""Histories of releases made by hand, change by change, for the tests of the checkers.

Invariant: a revision is a change's place in the history, and its second. It must not judge.
"""

import copy
from datetime import UTC, datetime, timedelta
from math import ceil

from localcluster.api import JsonObject
from localcluster.history import Change, Key, Kind
from tests.cluster import manifests
from tests.cluster.invariants import judge
from tests.cluster.kinds import (
    DEPLOYMENTS,
    DESTINATION_RULES,
    PODS,
    ROLLOUTS,
    SERVICES,
    SLICES,
    VIRTUAL_SERVICES,
)
from tests.cluster.manifests import NEW_IMAGE, STABLE_IMAGE, Application, StepPlan
from tests.cluster.sides import SLACK_SECONDS
from tests.cluster.user_actions import UserAction

APP = Application("shop", "here", True, (StepPlan(1, 20), StepPlan(2, 50)), True, replicas=2)
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class HistoryBuilder:
    """A history under construction; a revision is its place in it, and its second."""

    def __init__(self, app: Application = APP) -> None:
        self.app = app
        self.changes: list[Change] = []
        self.actions: list[UserAction] = []
        self.others: set[int] = set()
        """Revisions that somebody else than the controller wrote."""

    def put(
        self, kind: Kind, name: str, body: JsonObject, change: str = "MODIFIED"
    ) -> "HistoryBuilder":
        """Write an object."""
        body = copy.deepcopy(body)
        body.setdefault("metadata", {"name": name, "namespace": self.app.namespace})
        key = Key(kind, self.app.namespace, name)
        self.changes.append(Change(len(self.changes) + 1, change, key, body))
        return self

    def drop(self, kind: Kind, name: str) -> "HistoryBuilder":
        """Delete an object."""
        return self.put(kind, name, {}, "DELETED")

    def do(self, what: str, image: str = "") -> "HistoryBuilder":
        """An action of a person, at the present revision."""
        self.actions.append(UserAction(len(self.changes), what, image))
        return self

    def scale(self, size: int) -> "HistoryBuilder":
        """An action that changes the number of replicas, at the present revision."""
        self.actions.append(UserAction(len(self.changes), "scale", size=size))
        return self

    def long(self) -> "HistoryBuilder":
        """Let more time pass than a Service may be empty; nothing of the application changes meanwhile."""
        for number in range(ceil(self.app.grace + SLACK_SECONDS) + 1):
            self.service(f"x-{number}")
        return self

    def pod(self, name: str, image: str, version: str = "base") -> "HistoryBuilder":
        """A ready pod."""
        labels = {"app": "shop", "version": version}
        return self.put(
            PODS,
            name,
            {
                "metadata": {"name": name, "namespace": "here", "labels": labels},
                "spec": {"containers": [{"image": image}]},
                "status": {"conditions": [{"type": "Ready", "status": "True"}]},
            },
        )

    def status(self, step: int, revision: str = "new") -> "HistoryBuilder":
        """Write the Rollout's status: the release of a revision is at a step."""
        fields = {"currentStepIndex": step, "canaryRevision": revision}
        return self.put(
            ROLLOUTS, "shop", {"status": {"phase": "Progressing", "canaryStatus": fields}}
        )

    def over(self) -> "HistoryBuilder":
        """Write the Rollout's status: the release is over."""
        return self.put(ROLLOUTS, "shop", {"status": {"phase": "Healthy"}})

    def reports(self, state: str, pods: int, ready: int, step: int = 1) -> "HistoryBuilder":
        """Write the Rollout's status: the place of the release, and the numbers of new pods."""
        place = {"currentStepState": state, "currentStepIndex": step}
        fields = {"canaryRevision": "new", "podTemplateHash": "new", **place}
        counts = {"canaryReplicas": pods, "canaryReadyReplicas": ready}
        why = {"type": "Progressing", "status": "True", "reason": "InRolling"}
        status = {"phase": "Progressing", "conditions": [why], "canaryStatus": fields | counts}
        status["moonshift"] = {"step": step, "state": state}
        body = {"status": status, "spec": manifests.rollout(self.app)["spec"]}
        return self.put(ROLLOUTS, "shop", body)

    def new_pod(self, name: str, *, ready: bool = True) -> "HistoryBuilder":
        """A pod of the revision in the status."""
        self.pod(name, NEW_IMAGE)
        pod = copy.deepcopy(self.changes.pop().object)
        pod["metadata"]["labels"]["pod-template-hash"] = "new"
        if not ready:
            pod["status"] = {}
        return self.put(PODS, name, pod)

    def endpoints(self, service: str, *pods: str) -> "HistoryBuilder":
        """The pods behind a Service."""
        found = [{"conditions": {"ready": True}, "targetRef": {"name": pod}} for pod in pods]
        labels = {"kubernetes.io/service-name": service}
        metadata = {"name": service, "namespace": "here", "labels": labels}
        return self.put(SLICES, service, {"metadata": metadata, "endpoints": found})

    def service(self, name: str, revision: str = "") -> "HistoryBuilder":
        """A Service, pinned where a revision is given."""
        selector = {"app": "shop", **({"pod-template-hash": revision} if revision else {})}
        return self.put(SERVICES, name, {"spec": {"selector": selector}})

    def route(self, *weights: int) -> "HistoryBuilder":
        """The VirtualService, with the stable Service first."""
        body = manifests.virtual_service(self.app)
        hosts = (
            [{"host": "shop", "subset": "base"}, {"host": "shop", "subset": "canary"}]
            if self.app.shared
            else [{"host": "shop"}, {"host": "shop-canary"}]
        )
        body["spec"]["http"][1]["route"] = [
            {"destination": host, "weight": weight}
            for host, weight in zip(hosts, weights, strict=False)
        ]
        return self.put(VIRTUAL_SERVICES, "shop", body)

    def subsets(self, *names: str) -> "HistoryBuilder":
        """The DestinationRule with these subsets, each of the pods of its name."""
        body = manifests.destination_rule(self.app)
        body["spec"]["subsets"] = [{"name": n, "labels": {"version": n}} for n in names]
        return self.put(DESTINATION_RULES, "shop", body)

    def by_others(self) -> "HistoryBuilder":
        """The last change was somebody else's."""
        self.others.add(len(self.changes))
        return self

    def broken(self) -> set[str]:
        """The rules that did not hold."""
        found = judge(
            self.app,
            [],
            self.changes,
            self.actions,
            lambda change: EPOCH + timedelta(seconds=change.resource_version),
            lambda change: change.resource_version in self.others,
        )
        return {violation.rule for violation in found}


def at_rest(app: Application = APP) -> HistoryBuilder:
    """Two stable pods behind the Service, nothing released."""
    history = HistoryBuilder(app).put(
        DEPLOYMENTS, "shop", manifests.deployment(app) | strategy("RollingUpdate")
    )
    history.pod("a", STABLE_IMAGE).pod("b", STABLE_IMAGE)
    if app.shared:
        history.put(DESTINATION_RULES, "shop", manifests.destination_rule(app))
    return history.service("shop").endpoints("shop", "a", "b").route(100)


def strategy(kind: str) -> JsonObject:
    return {"spec": {"strategy": {"type": kind}}}
