"""A gateway's part of the world in memory: an object server with the API server's rules, and scripts as functions."""

import copy
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from controller.api import names
from controller.api.rollout import PatchMetadata, Step, TrafficRoutingRef
from controller.domain.decision import Reference, RoutePlan
from controller.domain.traffic.original.content import MARKS
from controller.domain.traffic.plan.traffic_plan import references_of, route_plan
from controller.effects.gateways import Scope
from controller.errors import (
    AlreadyExists,
    Conflict,
    Forbidden,
    Invalid,
    MoonshiftError,
    NotFound,
    WorkerUnavailable,
)
from controller.kube.resources import Resource
from controller.scripts.lookup import MissingScript, Script
from controller.scripts.script_outcome import Executed, Refused, ScriptAnswer

Object = dict[str, Any]
Hook = Callable[[Object], None]
NAMESPACE = "demo"


class ObjectServer:
    """Stores objects, counts versions, answers 404, 403 and 409 as the API server does, and may default fields."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Object] = {}
        self.version = 100
        self.unserved: set[str] = set()
        self.cluster_scoped: set[str] = set()
        self.forbidden: set[tuple[str, str]] = set()
        self.invalid: set[str] = set()
        self.cut_off = False
        self.on_store: Hook | None = None
        self.before_write: Hook | None = None
        self.writes: list[str] = []
        self.dry_runs: list[str] = []
        self.refusing: MoonshiftError | None = None
        self.reads: list[str] = []

    def put(self, kind: str, name: str, spec: Object, **metadata: Any) -> None:
        self.version += 1
        self.objects[kind, name] = {
            "apiVersion": "networking.istio.io/v1",
            "kind": kind,
            "metadata": {
                "name": name,
                "namespace": NAMESPACE,
                "uid": f"uid-{name}",
                "resourceVersion": str(self.version),
                **metadata,
            },
            "spec": spec,
        }

    def edit(self, kind: str, name: str, change: Hook) -> None:
        """Another client's write."""
        changed = copy.deepcopy(self.objects[kind, name])
        change(changed)
        self.version += 1
        changed["metadata"]["resourceVersion"] = str(self.version)
        self.objects[kind, name] = changed

    def spec(self, kind: str, name: str) -> Object:
        found: Object = self.objects[kind, name]["spec"]
        return found

    def annotations(self, kind: str, name: str) -> dict[str, str]:
        found: dict[str, str] = self.objects[kind, name]["metadata"].get("annotations", {})
        return found

    def content(self, kind: str, name: str) -> Object:
        """All but the version."""
        found = copy.deepcopy(self.objects[kind, name])
        del found["metadata"]["resourceVersion"]
        return found

    async def scope(self, reference: Reference) -> Scope | None:
        if reference.kind in self.unserved:
            return None
        return Scope.CLUSTER if reference.kind in self.cluster_scoped else Scope.NAMESPACED

    async def resource(self, reference: Reference) -> Resource | None:
        if reference.kind in self.unserved:
            return None
        plural, version = reference.kind.lower() + "s", reference.api_version.rpartition("/")[2]
        namespaced = reference.kind not in self.cluster_scoped
        return Resource(reference.group, version, plural, reference.kind, namespaced=namespaced)

    def _found(self, verb: str, reference: Reference, namespace: str) -> Object:
        assert namespace == NAMESPACE
        if (verb, reference.kind) in self.forbidden:
            plural = reference.kind.lower() + "s"
            raise Forbidden(
                f'{plural}.{reference.group} "{reference.name}" is forbidden: User "moonshift" cannot {verb} '
                f'resource "{plural}" in API group "{reference.group}" in the namespace "{namespace}"',
                status=403,
            )
        if (reference.kind, reference.name) not in self.objects:
            raise NotFound(f"{reference.kind} {reference.name} not found", status=404)
        return self.objects[reference.kind, reference.name]

    async def read(self, reference: Reference, namespace: str) -> bytes:
        self.reads.append(str(reference))
        return json.dumps(self._found("get", reference, namespace)).encode()

    async def replace(
        self, reference: Reference, namespace: str, body: bytes, *, dry_run: bool = False
    ) -> bytes:
        if self.before_write is not None:
            hook, self.before_write = self.before_write, None
            self.edit(reference.kind, reference.name, hook)
        stored = self._found("update", reference, namespace)
        new: Object = json.loads(body)
        assert new["metadata"]["uid"] == stored["metadata"]["uid"]
        if new["metadata"].get("resourceVersion") != stored["metadata"]["resourceVersion"]:
            raise Conflict("the object has been modified", status=409)
        if reference.kind in self.invalid:
            raise Invalid("spec.http: Invalid value", status=422)
        if dry_run and self.refusing is not None:
            raise self.refusing
        if dry_run:
            self.dry_runs.append(str(reference))
            return body
        if self.on_store is not None:
            self.on_store(new)
        self.version += 1
        new["metadata"]["resourceVersion"] = str(self.version)
        self.objects[reference.kind, reference.name] = new
        self.writes.append(str(reference))
        return json.dumps(new).encode()

    async def made_for(
        self, kind: Reference, namespace: str, rollout_uid: str
    ) -> tuple[bytes, ...]:
        found = [
            item
            for (of, _), item in self.objects.items()
            if of == kind.kind
            and item["metadata"].get("labels", {}).get(names.ROLLOUT_UID) == rollout_uid
        ]
        return tuple(json.dumps(item).encode() for item in found)

    async def create(
        self, kind: Reference, namespace: str, body: bytes, *, dry_run: bool = False
    ) -> None:
        new: Object = json.loads(body)
        name = new["metadata"]["name"]
        if (kind.kind, name) in self.objects:
            raise AlreadyExists(f"{name} already exists", status=409)
        if ("create", kind.kind) in self.forbidden:
            raise Forbidden(f"cannot create {name}", status=403)
        if dry_run:
            self.dry_runs.append(f"+{kind.kind}/{name}")
            return
        self.version += 1
        new["metadata"] |= {"uid": f"uid-{self.version}", "resourceVersion": str(self.version)}
        self.objects[kind.kind, name] = new
        self.writes.append(f"+{kind.kind}/{name}")

    async def remove(self, kind: Reference, namespace: str, name: str, uid: str) -> None:
        found = self.objects.get((kind.kind, name))
        if found is None:
            return
        if found["metadata"]["uid"] != uid:
            raise Conflict("another uid", status=409)
        if ("delete", kind.kind) in self.forbidden:
            raise Forbidden(f"cannot delete {name}", status=403)
        del self.objects[kind.kind, name]
        self.writes.append(f"-{kind.kind}/{name}")

    async def take_marks_off(self, reference: Reference, namespace: str, stored: bytes) -> None:
        found = self.objects[reference.kind, reference.name]
        assert json.loads(stored) == found
        if self.cut_off:
            raise Conflict("cut off", status=409)
        for mark in MARKS:
            found["metadata"].get("annotations", {}).pop(mark, None)
        if not found["metadata"].get("annotations", True):
            del found["metadata"]["annotations"]


Function = Callable[[Object], object]


class Scripts:
    """Script source and runner in one: a script is a function of `obj`, its text is its header."""

    def __init__(self) -> None:
        self.functions: dict[str, Function | Refused] = {}
        self.headers: dict[str, str] = {}
        self.asked: list[Object] = []
        self.available = True

    def add(self, kind: str, function: Function | Refused, header: str = "") -> None:
        self.functions[kind] = function
        self.headers[kind] = header

    def resolve(self, reference: Reference) -> Script | MissingScript:
        if reference.kind not in self.functions:
            return MissingScript(
                f"no script for {reference.kind}: neither packaged as X nor in key Y of ConfigMap Z"
            )
        text = f"{self.headers[reference.kind]}\n-- {reference.kind}".encode()
        return Script(f"{reference.kind}.lua", text, hashlib.sha256(text).hexdigest(), "packaged")

    async def execute(
        self, script: Script, obj: bytes, *, tenant: str, request_id: str
    ) -> ScriptAnswer:
        assert tenant == NAMESPACE
        assert request_id
        if not self.available:
            raise WorkerUnavailable("nothing listens at unix:///run/worker.sock")
        function = self.functions[script.name.removesuffix(".lua")]
        if isinstance(function, Refused):
            return function
        decoded: Object = json.loads(obj)
        self.asked.append(copy.deepcopy(decoded))
        answer = function(decoded)
        if isinstance(answer, Refused):
            return answer
        return Executed(json.dumps(answer, sort_keys=True).encode())


def split(obj: Object) -> object:
    """The work of a VirtualService script, in the part these tests need: shares of rules that point at stable."""
    data: Object = obj["data"]
    stable, canary = obj["stableService"], obj["canaryService"]
    for rule in data["spec"]["http"]:
        entries = [e for e in rule.get("route", []) if e["destination"]["host"] == stable]
        for entry in entries:
            other = copy.deepcopy(entry)
            other["destination"]["host"] = canary
            if stable == canary:
                other["destination"]["subset"] = "canary"
            entry["weight"], other["weight"] = obj["stableWeight"], obj["canaryWeight"]
            rule["route"].append(other)
    return data


def subset(obj: Object) -> object:
    """The work of a DestinationRule script."""
    labels = obj["patchPodMetadata"]["labels"]
    obj["data"]["spec"]["subsets"].append({"name": "canary", "labels": labels})
    return obj["data"]


AFTER_RULE = "--@after networking.istio.io/DestinationRule"


def routing(*objects: tuple[str, str], service: str = "web") -> TrafficRoutingRef:
    from controller.api.rollout import NetworkRef

    return TrafficRoutingRef(
        service=service,
        custom_network_refs=tuple(
            NetworkRef(api_version="networking.istio.io/v1", kind=kind, name=name)
            for kind, name in objects
        ),
    )


def references(*objects: tuple[str, str], shared: bool = False) -> tuple[Reference, ...]:
    return references_of((routing(*objects),), shared)


def plan(
    refs: tuple[Reference, ...],
    traffic: str | None = "20%",
    *,
    rollout: str = "web",
    release: str = "r1",
    labels: Mapping[str, str] | None = None,
    uid: str = "",
    step: Step | None = None,
) -> RoutePlan:
    return route_plan(
        namespace=NAMESPACE,
        rollout=rollout,
        release=release,
        references=refs,
        step=step or Step(traffic=traffic),
        pod_metadata=PatchMetadata(labels=dict(labels or {})),
        rollout_uid=uid,
    )


def ours(annotations: Mapping[str, str]) -> set[str]:
    return {names.ORIGINAL_SPEC, names.ROUTE_STATE} & set(annotations)
