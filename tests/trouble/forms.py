"""The forms of a release: a kind of workload in a style. The table has an answer for every trouble in every form.

All are released in two steps, 20 % and 50 % of pods and traffic, each of which waits for its approval.
"""

from dataclasses import dataclass, replace
from typing import Any

from localcluster.api import JsonObject
from tests.cluster import manifests
from tests.cluster.manifests import Application, StepPlan

STEPS = (StepPlan(1, 20), StepPlan(2, 50))
LAST = len(STEPS)


@dataclass(frozen=True, slots=True)
class Form:
    """A kind of workload in a style."""

    workload: str
    style: str = "partition"

    @property
    def name(self) -> str:
        """The name of the form in the document and in test names."""
        return f"{self.workload}, {self.style}"

    @property
    def of_kruise(self) -> bool:
        """Whether the form needs OpenKruise's manager."""
        return self.workload in ("CloneSet", "Advanced StatefulSet", "Advanced DaemonSet")

    @property
    def resource(self) -> str:
        """The name of the workload's kind for kubectl."""
        kind = self.application().workload_kind
        full = f"{kind.plural}.{kind.version}.{kind.group}"
        return full if self.of_kruise else self.workload.lower()

    def application(self, namespace: str = "") -> Application:
        """An application of this form."""
        return Application(
            "shop",
            namespace,
            self.style == "canary",
            STEPS,
            virtual_service=True,
            workload=self.workload,
            blue_green=self.style == "blue-green",
        )


PACED = Form("Deployment")
CANARY = Form("Deployment", "canary")
BLUE_GREEN = Form("Deployment", "blue-green")
STATEFUL = Form("StatefulSet")
DAEMON = Form("DaemonSet")
CLONES = Form("CloneSet")
CLONES_DOUBLED = Form("CloneSet", "blue-green")
ADVANCED_STATEFUL = Form("Advanced StatefulSet")
ADVANCED_DAEMON = Form("Advanced DaemonSet")

SETS = (STATEFUL, CLONES, ADVANCED_STATEFUL)
ON_NODES = (DAEMON, ADVANCED_DAEMON)
DEPLOYMENTS = (PACED, CANARY, BLUE_GREEN)
NATIVE = (*DEPLOYMENTS, STATEFUL, DAEMON)
KRUISE = (CLONES, CLONES_DOUBLED, ADVANCED_STATEFUL, ADVANCED_DAEMON)
FORMS = (*NATIVE, *KRUISE)


def percent_steps() -> list[JsonObject]:
    """The plan as an owner writes it: shares of the pods, so that scaling keeps them."""
    return [
        {"replicas": f"{step.traffic}%", "traffic": f"{step.traffic}%", "pause": {}}
        for step in STEPS
    ]


def rollout(app: Application, **more: Any) -> JsonObject:
    """The Rollout of an application of a form; `more` are fields of its strategy."""
    body = manifests.rollout(app, percent_steps())
    (plan,) = body["spec"]["strategy"].values()
    plan |= more
    return body


def sized(app: Application, replicas: int) -> Application:
    """The same application with another number of replicas: its steps' pods are rounded up."""
    steps = tuple(
        StepPlan(-(-(step.traffic or 0) * replicas // 100), step.traffic) for step in app.steps
    )
    return replace(app, replicas=replicas, steps=steps)
