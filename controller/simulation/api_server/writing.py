"""The changes that an API server makes to a write before storing it: its own metadata, generations, subresources.

Invariant: the identity of an object (name, namespace, UID, creation, deletion) never changes by an update; a write to
the object leaves its status alone and a write to the status leaves everything else alone; the generation grows exactly
when a field outside metadata and status differs; a write that changes nothing stores nothing.
"""

from datetime import datetime

from controller.api.jsontree import JsonObject, child, items, number, same, text
from controller.errors import Conflict
from controller.kube.resources import Resource

SERVER_DECIDES = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "generation",
)


def created(
    resource: Resource, namespace: str, body: JsonObject, uid: str, now: datetime, *, status: bool
) -> JsonObject:
    """A new object as it is stored; a status that the client sends is dropped if status is a subresource."""
    metadata = {
        **child(body, "metadata"),
        "uid": uid,
        "creationTimestamp": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "generation": 1,
    }
    if resource.namespaced:
        metadata["namespace"] = namespace
    made = {**body, "apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
    if status:
        made.pop("status", None)
    return made


def updated(old: JsonObject, new: JsonObject, subresource: str, *, status: bool) -> JsonObject:
    """An object after an update: fields that the request may change from `new`, all others from `old`."""
    if subresource == "status":
        result = {**old, "metadata": {**child(old, "metadata"), **_version_asked(new)}}
        return _with(result, "status", new.get("status"))
    metadata = dict(child(new, "metadata"))
    before = child(old, "metadata")
    for name in SERVER_DECIDES:
        if name in before:
            metadata[name] = before[name]
        else:
            metadata.pop(name, None)
    result = {**new, "metadata": metadata}
    if status:
        result = _with(result, "status", old.get("status"))
    if not same(_spec(old), _spec(result)):
        metadata["generation"] = (number(before, "generation") or 0) + 1
    return result


def expect_version(old: JsonObject, new: JsonObject, subject: str) -> None:
    """Conflict when the request was made for another resource version than the present one."""
    asked = text(new, "metadata", "resourceVersion")
    if asked and asked != text(old, "metadata", "resourceVersion"):
        raise Conflict(
            f'Operation cannot be fulfilled on "{subject}": the object has been modified; please apply your changes '
            "to the latest version and try again",
            status=409,
            reason="Conflict",
        )


def changes_nothing(old: JsonObject, new: JsonObject) -> bool:
    """The write would store the present object again."""
    return same(_without_version(old), _without_version(new))


def signed(
    old: JsonObject | None, new: JsonObject, manager: str, subresource: str, api_version: str
) -> JsonObject:
    """`new` with its writer among the field managers. Removing labels, annotations or managers signs nothing.

    Which fields a manager owns is not modelled: only that it owns some.
    """
    if old is not None and _only_removes_metadata(_without_managers(old), _without_managers(new)):
        return new
    entries = [
        entry
        for entry in items(child(new, "metadata"), "managedFields")
        if (text(entry, "manager"), text(entry, "subresource")) != (manager, subresource)
    ]
    entry: JsonObject = {"manager": manager, "operation": "Update", "apiVersion": api_version}
    if subresource:
        entry["subresource"] = subresource
    metadata = {**child(new, "metadata"), "managedFields": [*entries, entry]}
    return {**new, "metadata": metadata}


def _only_removes_metadata(old: JsonObject, new: JsonObject) -> bool:
    """Labels and annotations of `new` are among those of `old`, and all else is the same."""
    if not same({**old, "metadata": None}, {**new, "metadata": None}):
        return False
    before, after = child(old, "metadata"), child(new, "metadata")
    return all(
        child(after, name).items() <= child(before, name).items()
        if name in ("labels", "annotations")
        else same(before.get(name), after[name])
        for name in after
    )


def _version_asked(new: JsonObject) -> JsonObject:
    return {"resourceVersion": text(new, "metadata", "resourceVersion")}


def _with(obj: JsonObject, name: str, value: object) -> JsonObject:
    result = dict(obj)
    result.pop(name, None)
    return result if value is None else {**result, name: value}


def _spec(obj: JsonObject) -> JsonObject:
    return {name: value for name, value in obj.items() if name not in ("metadata", "status")}


def _without_version(obj: JsonObject) -> JsonObject:
    metadata = {k: v for k, v in child(obj, "metadata").items() if k != "resourceVersion"}
    return {**obj, "metadata": metadata}


def _without_managers(obj: JsonObject) -> JsonObject:
    metadata = child(_without_version(obj), "metadata")
    servers = ("managedFields", "generation")
    return {**obj, "metadata": {k: v for k, v in metadata.items() if k not in servers}}
