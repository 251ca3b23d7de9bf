"""Classes of Ingress: the input of their scripts, and the meaning of their answers.

The original's contract is kept. A script gets the annotations of the canary Ingress (nil if there is none) and the
share as a string, and answers with the new annotations of that Ingress. Moonshift makes the canary Ingress: a copy of
the owner's with only the paths that lead to the stable Service. The script also gets the input that scripts of other
kinds get, and this copy as `canaryIngress`; there is no copy if annotations alone lead to the stable Service. An answer
may also have the form of other kinds: `spec` (the owner's Ingress is changed in place) or `objects` (the copies to
make, for a class that needs several).
Invariant: a script starts from the owner's annotations at every step. (The original hands it its own last answer, so
that an annotation that the script stops writing stays, B31.) Must not know any class.
"""

import re

from controller.domain.decision import Reference, RoutePlan
from controller.domain.traffic.original.content import MARKS, strings_of
from controller.domain.traffic.plan.script_input import script_input
from controller.domain.traffic.tree import Json, Tree, decode_tree, encode
from controller.domain.traffic.validation.answer import Answer, validate_tree
from controller.domain.traffic.validation.companion_objects import carried
from controller.domain.traffic.validation.violation import Violation


def canary_ingress(content: Tree, reference: Reference, namespace: str) -> Tree | Violation:
    """The copy of an Ingress that leads to the new revision, as a manifest."""
    spec = content.get("spec")
    spec = spec if isinstance(spec, dict) else {}
    rules = [kept for rule in _list(spec.get("rules")) if (kept := _rule(rule, reference))]
    backend = _backend(spec.get("defaultBackend"), reference)
    if not rules and backend is None:
        return Violation(
            f"no path of this Ingress leads to Service {reference.stable_service}: there is nothing to divide"
        )
    hosts = {strings_of(rule).get("host", "") for rule in rules}
    copy: Tree = {}
    if "ingressClassName" in spec:
        copy["ingressClassName"] = spec["ingressClassName"]
    patterns = _patterns(hosts)
    if tls := [entry for entry in _list(spec.get("tls")) if _concerns(entry, hosts, patterns)]:
        copy["tls"] = tls
    if rules:
        copy["rules"] = [*rules]
    if backend is not None:
        copy["defaultBackend"] = backend
    metadata: Tree = {"name": f"{reference.name}-canary", "namespace": namespace}
    for part in ("labels", "annotations"):
        if shared := carried(content.get(part)):
            metadata[part] = {**shared}
    return {
        "apiVersion": reference.api_version,
        "kind": reference.kind,
        "metadata": metadata,
        "spec": copy,
    }


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _rule(rule: Json, reference: Reference) -> Tree | None:
    """The rule with only the paths that lead to the stable Service; None if no path does."""
    http = rule.get("http") if isinstance(rule, dict) else None
    if not isinstance(rule, dict) or not isinstance(http, dict):
        return None
    paths: list[Json] = []
    for path in _list(http.get("paths")):
        backend = _backend(path.get("backend"), reference) if isinstance(path, dict) else None
        if isinstance(path, dict) and backend is not None:
            paths.append({**path, "backend": backend})
    return {**rule, "http": {**http, "paths": paths}} if paths else None


def _backend(backend: Json, reference: Reference) -> Tree | None:
    """The new revision's backend in place of the stable Service's; None for a backend of another Service."""
    service = backend.get("service") if isinstance(backend, dict) else None
    if not isinstance(service, dict) or service.get("name") != reference.stable_service:
        return None
    return {"service": {**service, "name": reference.canary_service}}


def _concerns(entry: Json, hosts: set[str], patterns: set[str]) -> bool:
    """The certificate is for one of the copy's hosts, or for all hosts. A copied rule without a host (`""`) needs every
    certificate.
    """
    named = entry.get("hosts") if isinstance(entry, dict) else None
    if not isinstance(named, list) or not named or "" in hosts:
        return True
    names = set(map(str, named))
    return bool(hosts & names or patterns & names or hosts & _patterns(names))


def _patterns(hosts: set[str]) -> set[str]:
    """The names that are also for these hosts: *.example.com is for every host with one label more."""
    return {f"*.{host.partition('.')[2]}" for host in hosts}


def _annotation_leads(content: Tree, service: str) -> bool:
    """An annotation of the owner names the Service, as a class does that reads backends from annotations."""
    name = re.compile(rf"(?<![\w.-]){re.escape(service)}(?![\w-])")
    return any(name.search(value) for value in carried(content.get("annotations")).values())


def class_input(
    reference: Reference, plan: RoutePlan, content: Tree, siblings: tuple[Json, ...] = ()
) -> bytes | Violation:
    """The global `obj` of one call, as JSON; `content` is that of the owner's Ingress."""
    copy = canary_ingress(content, reference, plan.namespace)
    if isinstance(copy, Violation) and not _annotation_leads(content, reference.stable_service):
        return copy
    obj = decode_tree(script_input(reference, plan, content, siblings))
    share = obj["canaryWeight"]
    obj["weight"] = f"{share:g}" if isinstance(share, (int, float)) else "-1"
    if not isinstance(copy, Violation):
        obj["canaryIngress"] = copy
    if annotations := carried(content.get("annotations")):
        obj["annotations"] = {**annotations}
    return encode(obj)


def validate_class_answer(
    result: bytes,
    content: Tree,
    reference: Reference,
    plan: RoutePlan,
) -> Answer | Violation:
    """The content of the owner's Ingress and its companion objects, or a violation."""
    try:
        # An empty Lua table may come out as a list.
        answer = decode_tree(b"{}" if result.strip() == b"[]" else result)
    except ValueError as problem:
        return Violation(f"the script's answer cannot be read: {problem}")
    if not isinstance(answer.get("spec"), dict) and not isinstance(
        answer.get("objects"), list | dict
    ):
        annotations = _annotations(answer)
        if isinstance(annotations, Violation):
            return annotations
        copy = canary_ingress(content, reference, plan.namespace)
        if isinstance(copy, Violation):
            return copy
        # Also with a share of 0 %, as the original does: going back to such a step deletes no Ingress.
        answer = {"objects": [_annotated(copy, annotations)]}
    if not isinstance(answer.get("spec"), dict):
        answer = {**content, "objects": answer.get("objects")}
    return validate_tree(answer, content, (reference,), plan.namespace, plan.references)


def _annotated(copy: Tree, annotations: dict[str, str]) -> Tree:
    metadata = copy["metadata"]
    metadata = {**metadata} if isinstance(metadata, dict) else {}
    metadata.pop("annotations", None)
    if annotations:
        metadata["annotations"] = {**annotations}
    return {**copy, "metadata": metadata}


def _annotations(answer: Tree) -> dict[str, str] | Violation:
    for name, value in answer.items():
        if not isinstance(value, str):
            return Violation(f"the script's annotation {name} is no string; use tostring")
    return {name: value for name, value in strings_of(answer).items() if name not in MARKS}
