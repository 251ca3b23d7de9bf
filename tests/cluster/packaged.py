"""Every packaged gateway kind and Ingress class as one release of it: an object, two steps, its fields at each.

Why it exists: a new folder of `lua_configuration` gets a release on a control plane without being listed anywhere.
Invariant: all comes from a kind's own test data, with the namespace of the run in place of the data's. A case with a
share and a match is taken first, then one with two shares. Must not talk to a cluster.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from controller.cli.script_tools.script_folders import Subject, subjects_in
from demo.stage import ROOT
from localcluster.api import JsonObject
from localcluster.history import Kind
from tests.cluster.gateways import definition
from tests.cluster.manifests import Application, StepPlan, rollout
from tests.cluster.ports import ports_of

FOLDER = ROOT / "lua_configuration"
BUILT_IN = "networking.k8s.io"
GUARDED = (".k8s.io", ".kubernetes.io")
"""Groups whose CRDs need the approval annotation."""
PODS = (1, 2)
SHARE_ALONE = {"traffic", "replicas"}


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
        ports = ports_of(self.original, self.service, namespace)
        return Application(self.service, namespace, True, plan, ports=ports)

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
    """The two steps that show most of the script."""
    found = [pair for case in _cases(subject) for pair in _pairs(case)]
    assert found, f"{subject.name} has no case with two steps that can be released"
    _, content, steps = min(found, key=lambda pair: pair[0])
    return Sample(subject.name, content, steps)


def _cases(subject: Subject) -> list[JsonObject]:
    """The cases of a script; files with the same object and the same Rollout, but for its steps, are one case."""
    cases: list[JsonObject] = []
    for path in subject.cases():
        content = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)
        if "rollout" not in content:
            continue
        same = [case for case in cases if _but_for_steps(case) == _but_for_steps(content)]
        if same:
            _steps(same[0]).extend(_steps(content))
            same[0]["expected"].extend(content["expected"])
        else:
            cases.append(content)
    return cases


def _steps(case: JsonObject) -> list[JsonObject]:
    found: list[JsonObject] = case["rollout"]["spec"]["strategy"]["canary"]["steps"]
    return found


def _but_for_steps(case: JsonObject) -> tuple[JsonObject, JsonObject]:
    style = case["rollout"]["spec"]["strategy"]["canary"]
    return case["original"], {key: value for key, value in style.items() if key != "steps"}


def _pairs(case: JsonObject) -> Iterator[tuple[tuple[int, int], JsonObject, tuple[int, int]]]:
    """The two steps of a case that show most of the script, after a rank: the lowest shows most.

    A share and a match show more than two shares, and those more than two other steps. Of two cases with such steps,
    the one with more steps is the ordinary one.
    """
    steps = _steps(case)
    found = [
        number
        for number, (step, item) in enumerate(zip(steps, case["expected"], strict=True))
        if "error" not in item and (_share(step) or step.get("matches"))
    ]
    shares = [n for n in found if set(steps[n]) <= SHARE_ALONE and _share(steps[n]) < 100]
    matches = [n for n in found if set(steps[n]) == {"matches"}]
    growing = sorted(shares[:2], key=lambda n: _share(steps[n]))
    for rank, numbers in enumerate((shares[:1] + matches[:1], growing, found)):
        if len(numbers) > 1:
            yield (rank, -len(steps)), case, (numbers[0], numbers[1])
            return


def _share(step: JsonObject) -> float:
    """The share of a step in percent; 0 if it has none."""
    return float(step.get("traffic", "0%").removesuffix("%"))


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
