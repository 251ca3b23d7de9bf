"""A GitOps tool with self-heal, as Argo CD and Flux have it: it looks at every change and puts back the fields in Git.

The manifest in Git decides: a field that it does not name is left alone. While the live object has the mark, fields
named by the rules are not compared, and are applied with their live values (Argo CD's
`RespectIgnoreDifferences`). Everything is applied by the server, by force. Invariant: every revision of each object is
looked at, in order; each write that the tool makes is kept with its cause. It must not know of releases.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

from controller.api.jsontree import changed, child
from localcluster.api import ApiClient, JsonObject
from localcluster.errors import NotReady
from localcluster.history import Change, Key, Kind
from localcluster.record import Recorder
from tests.cluster.kinds import path_of
from tests.gitops.ignoring import Ignored, ignored

MANAGER = "gitops"
SSA = "kustomize.toolkit.fluxcd.io/ssa"
APPLY = "application/apply-patch+yaml"
LOOK_SECONDS = 2.0
IGNORED = {(one.group, one.kind): one for one in ignored()}
NOTHING: Mapping[tuple[str, str], Ignored] = {}
"""The rules of somebody who has not installed the file."""
TRACKED_BY = {
    "labels": {"app.kubernetes.io/instance": "shop", "applyset.kubernetes.io/part-of": "shop"},
    "annotations": {"argocd.argoproj.io/tracking-id": "shop:/"},
}
"""How Argo CD (both ways at once) and kubectl with pruning know what they have applied."""


class Repair(NamedTuple):
    """A write of the tool: the object, and the first place that differed."""

    key: Key
    place: str


def tracked(body: JsonObject) -> JsonObject:
    """A manifest as the tool applies it."""
    for part, marks in TRACKED_BY.items():
        for name, value in marks.items():
            body = changed(body, ("metadata", part, name), value)
    return body


def claimed(obj: JsonObject) -> bool:
    """The tool treats the object as its own, and would delete it if Git does not contain it."""
    metadata = obj["metadata"]
    marks = {*(metadata.get("labels") or {}), *(metadata.get("annotations") or {})}
    names = {name for part in TRACKED_BY.values() for name in part}
    return bool(marks & names) and not metadata.get("ownerReferences")


def difference(wanted: Any, live: Any, place: str = "") -> str:
    """The first place where an object differs from the manifest; empty if there is none."""
    match wanted, live:
        case dict(), dict():
            parts = ((key, wanted[key], live.get(key)) for key in wanted)
        case list(), list() if len(wanted) == len(live):
            parts = (
                (str(n), one, two) for n, (one, two) in enumerate(zip(wanted, live, strict=True))
            )
        case _:
            return "" if wanted == live else place or "/"
    return next(
        filter(None, (difference(one, two, f"{place}/{key}") for key, one, two in parts)), ""
    )


class SelfHeal:
    """Follows its objects from the moment it is started until `stop`."""

    def __init__(
        self, client: ApiClient, recorder: Recorder, rules: Mapping[tuple[str, str], Ignored]
    ) -> None:
        self.wanted: dict[Key, JsonObject] = {}
        """The manifests in Git now."""
        self.repairs: list[Repair] = []
        self.spared: set[Kind] = set()
        """The kinds that differed from Git at some time, in fields that the tool must leave alone."""
        self._client = client
        self._recorder = recorder
        self._rules = rules
        self._seen: dict[Key, int] = {}
        self._looking = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def commit(self, key: Key, body: JsonObject, since: int = 0) -> None:
        """Write a manifest to Git, under `held`; revisions of the object before `since` do not count."""
        self.wanted[key] = tracked(body)
        self._seen[key] = max(since - 1, self._seen.get(key, 0))

    @property
    def held(self) -> asyncio.Lock:
        """The tool does not check objects while this lock is held."""
        return self._looking

    def start(self) -> None:
        """Begin to look."""
        self._task = asyncio.create_task(self._follow(), name="self-heal")

    async def stop(self) -> None:
        """Look at the changes that have come until now, and end; raise the error of the tool, if any."""
        await self._recorder.caught_up()
        await self._look()
        assert self._task is not None
        if self._task.done():
            await self._task
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _follow(self) -> None:
        while True:
            try:
                await self._recorder.until(self._is_news, LOOK_SECONDS)
            except NotReady:
                continue  # nothing has happened for as long
            await self._look()

    def _is_news(self, change: Change) -> bool:
        since = self._seen.get(change.key, 0)
        return (
            change.key in self.wanted
            and change.type != "DELETED"
            and change.resource_version > since
        )

    async def _look(self) -> None:
        async with self._looking:
            for change in [c for c in self._recorder.history() if self._is_news(c)]:
                self._seen[change.key] = change.resource_version
                await self._compare(change.key, change.object)

    async def _compare(self, key: Key, live: JsonObject) -> None:
        wanted = self.wanted[key]
        if not difference(wanted, live):
            return
        target = self._target(wanted, live)
        place = await self.drift(key, target, live)
        if place:
            self.repairs.append(Repair(key, place))
            await self.apply(key, target)
        else:
            self.spared.add(key.kind)

    async def drift(self, key: Key, target: JsonObject, live: JsonObject) -> str:
        """The first place that the tool would correct; Argo CD compares by itself."""
        return difference(target, live)

    async def apply(self, key: Key, target: JsonObject, **parameters: str) -> JsonObject:
        """Apply by force; return the object."""
        query = "&".join(f"{name}={value}" for name, value in parameters.items())
        path = f"{path_of(key)}?fieldManager={MANAGER}&force=true&{query}"
        return await self._client.patch(path, target, APPLY)

    def _target(self, wanted: JsonObject, live: JsonObject) -> JsonObject:
        """Git's manifest, with the live values of the ignored fields."""
        rule = self._rules.get((wanted["apiVersion"].rpartition("/")[0], wanted["kind"]))
        if rule is None or rule.mark not in child(live, "metadata", rule.part):
            return wanted
        for place in rule.places:
            above: Any = child(live, *place[:-1])
            wanted = changed(wanted, place, above.get(place[-1]))
        return wanted


class Flux(SelfHeal):
    """Compares as Flux's kustomize-controller does: with the result of a dry run of the apply.

    A manifest with `kustomize.toolkit.fluxcd.io/ssa: IfNotPresent` is made once and not looked at again.
    """

    async def drift(self, key: Key, target: JsonObject, live: JsonObject) -> str:
        """Compare the server's answer to a dry run, webhooks included, with the live object."""
        if child(target, "metadata", "annotations").get(SSA) == "IfNotPresent":
            return ""
        foretold = await self.apply(key, target, dryRun="All")
        if _version(foretold) != _version(live):
            return ""  # the object has changed since: that revision is looked at next
        return difference(foretold["spec"], live["spec"], "/spec")


def _version(obj: JsonObject) -> object:
    return obj["metadata"]["resourceVersion"]
