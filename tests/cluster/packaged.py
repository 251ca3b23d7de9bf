"""Every packaged gateway kind and Ingress class as one release of it: an object, two steps, its fields at each.

Why it exists: a new folder of `lua_configuration` gets a release on a control plane without being listed anywhere.
Invariant: all comes from a kind's own test data, with the namespace of the run in place of the data's; a case with
two shares is taken before one with matches. Must not talk to a cluster.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from controller.cli.script_tools.subjects import Subject, subjects_in
from demo.stage import ROOT
from localcluster.api import JsonObject
from localcluster.history import Kind
from tests.cluster.gateways import definition
from tests.cluster.manifests import Application, StepPlan, rollout

FOLDER = ROOT / "lua_configuration"
BUILT_IN = "networking.k8s.io"
GUARDED = (".k8s.io", ".kubernetes.io")
"""Groups whose CRDs need the approval annotation."""
PODS = (1, 2)


@dataclass(frozen=True, slots=True)
class Sample:
    """One case of one script, and the numbers of the two steps that are released."""

    title: str
    content: JsonObject
    steps: tuple[int, int]

    @property
    def original(self) -> JsonObject:
        """The object as its owner wrote it."""
        found: JsonObject = self.content["original"]
        return found

    @property
    def kind(self) -> Kind:
        """The resource of the object."""
        group, _, version = self.original["apiVersion"].rpartition("/")
        return Kind(group, version, plural_of(self.original["kind"]))

    @property
    def cluster_scoped(self) -> bool:
        """The Rollout of the case is in a namespace, the object in none."""
        rollout_of = self.content["rollout"].get("metadata", {})
        return "namespace" in rollout_of and "namespace" not in self.original["metadata"]

    @property
    def service(self) -> str:
        """The stable Service; the application is called so as well."""
        return str(self._style["trafficRoutings"][0]["service"])

    @property
    def _style(self) -> JsonObject:
        found: JsonObject = self.content["rollout"]["spec"]["strategy"]["canary"]
        return found

    def expected(self) -> tuple[JsonObject, JsonObject]:
        """The fields of the object at either step, with its companion objects under `objects`."""
        first, second = self.steps
        return self.content["expected"][first], self.content["expected"][second]

    def within(self, namespace: str) -> "Sample":
        """The same in another namespace, wherever the data names its own."""
        own = self.original["metadata"].get("namespace")
        own = own or self.content["rollout"].get("metadata", {}).get("namespace")
        text = json.dumps(self.content)
        content = json.loads(text.replace(own, namespace) if own else text)
        if not self.cluster_scoped:
            content["original"]["metadata"]["namespace"] = namespace
        return Sample(self.title, content, self.steps)

    def application(self, namespace: str) -> Application:
        """The application of the release: the Service of the case and a Deployment behind it."""
        plan = tuple(StepPlan(pods) for pods in PODS)
        return Application(self.service, namespace, True, plan)

    def rollout(self, app: Application) -> JsonObject:
        """The Rollout of the case with two of its steps, each of which waits for its approval."""
        body = rollout(app)
        routing = {**self._style["trafficRoutings"][0], "gracePeriodSeconds": app.grace}
        steps = [
            {**self._style["steps"][number], "replicas": pods, "pause": {}}
            for number, pods in zip(self.steps, PODS, strict=True)
        ]
        body["spec"]["strategy"]["canary"] = {
            **self._style,
            "trafficRoutings": [routing],
            "steps": steps,
        }
        return body


def plural_of(kind: str) -> str:
    """The resource of a kind, as these projects form it."""
    word = kind.lower()
    if word.endswith("ss"):
        return f"{word}es"
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"


def samples() -> dict[str, Sample]:
    """A release of every script, by the script's name."""
    return {subject.name: _sample(subject) for subject in subjects_in(FOLDER)}


def _sample(subject: Subject) -> Sample:
    """The best of its cases: with two shares, else with two steps of any sort."""
    found = sorted(
        (pair for path in subject.cases() for pair in _pairs(path)), key=lambda pair: pair[0]
    )
    assert found, f"{subject.name} has no case with two steps that can be released"
    _, content, steps = found[0]
    return Sample(subject.name, content, steps)


def _pairs(path: Path) -> Iterator[tuple[int, JsonObject, tuple[int, int]]]:
    """The two steps of a case that can follow each other, with a penalty for steps that are no shares."""
    content = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)
    if "rollout" not in content:
        return
    steps = content["rollout"]["spec"]["strategy"]["canary"]["steps"]
    found = [
        number
        for number, (step, item) in enumerate(zip(steps, content["expected"], strict=True))
        if "error" not in item and (step.get("traffic", "0%") != "0%" or step.get("matches"))
    ]
    shares = [n for n in found if not steps[n].get("matches") and steps[n]["traffic"] != "100%"]
    for missing, numbers in enumerate((shares, found)):
        if len(numbers) > 1:
            yield missing, content, (numbers[0], numbers[1])
            return


def definitions(found: dict[str, Sample]) -> Iterator[JsonObject]:
    """CRDs of all kinds that are not built into the API server."""
    for sample in found.values():
        kind = sample.kind
        if kind.group == BUILT_IN:
            continue
        body = definition(kind.group, sample.original["kind"], kind.plural, [kind.version])
        body["spec"]["scope"] = "Cluster" if sample.cluster_scoped else "Namespaced"
        for version in body["spec"]["versions"]:
            anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
            version["schema"]["openAPIV3Schema"]["properties"]["status"] = anything
            version["subresources"] = {"status": {}}
        if kind.group.endswith(GUARDED):
            approved = {"api-approved.kubernetes.io": "unapproved, experimental-only"}
            body["metadata"]["annotations"] = approved
        yield body
