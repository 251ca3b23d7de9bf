"""Moonshift's kinds, and those that the controller asks outside of its caches, as classes of kr8s.

    api = await kr8s.asyncio.api()
    rollout = await Rollout.get("web", namespace="shop", api=api)
    await rollout.wait("jsonpath='{.status.phase}'=Healthy")

Any Api of kr8s will do; `ControllerApi` is one. Invariants: `raw` is the API server's answer, and `record` only decodes
it; a class asks for its own kind by group, version and plural, so a kind of the same plural in another group is never
meant. Watches, lists and large objects are not for them: an object of kr8s takes a hundred times the CPU and memory
of a typed one (docs/decisions/20261127-kr8s-is-the-client.md).
"""

from collections.abc import AsyncGenerator
from typing import Any, ClassVar, Generic, Self, TypeVar, cast
from urllib.parse import quote

import msgspec

from controller.api import history, rollout, trafficrouting
from controller.api.decoding import decoded
from controller.errors import UnreadableAnswer
from controller.kube import answers
from controller.kube.kr8s_lean import Api, APIObject
from controller.kube.resources import (
    ACCESS_REVIEWS,
    LEASES,
    ROLLOUT_HISTORIES,
    ROLLOUTS,
    SECRETS,
    SELF_REVIEWS,
    SUBJECT_REVIEWS,
    TOKEN_REVIEWS,
    TRAFFIC_ROUTINGS,
    Resource,
)

T = TypeVar("T")


class Recorded(APIObject, Generic[T]):
    """An object that can be read as a type of the wire."""

    _asyncio = True
    type: ClassVar[type[msgspec.Struct]]

    def __init_subclass__(cls, of: Resource | None = None) -> None:
        super().__init_subclass__()
        if of is not None:
            cls.version, cls.kind, cls.namespaced = of.api_version, of.kind, of.namespaced
            cls.endpoint = cls.plural = of.plural
            cls.singular = of.kind.lower()

    @property
    def record(self) -> T:
        """The whole object, decoded; UnreadableAnswer if it has another form."""
        try:
            return cast(T, decoded(msgspec.json.encode(self.to_dict()), self.type))
        except msgspec.DecodeError as failure:
            raise UnreadableAnswer(f"{self.kind} could not be read: {failure}") from failure

    @classmethod
    async def async_get(
        cls,
        name: str | None = None,
        namespace: str | None = None,
        api: Api | None = None,
        label_selector: str | dict[str, str] | None = None,
        field_selector: str | dict[str, str] | None = None,
        timeout: int = 2,  # noqa: ASYNC109 - the signature is that of kr8s
        **kwargs: Any,
    ) -> Self:
        """One object by its name, in one request, which needs the right to get it and not the right to list."""
        if not name:
            return await super().async_get(
                name, namespace, api, label_selector, field_selector, timeout, **kwargs
            )
        if quote(name, safe="") != name:
            raise ValueError(f"no {cls.kind} can be called {name!r}")
        found = cls(name, namespace=namespace, api=api)
        await cast(Any, found)
        await found.async_refresh()
        return found

    async def replace(self) -> None:
        """PUT the object as it is in `raw`; Conflict unless its resource version is the present one."""
        async with self.api.call_api(
            "PUT",
            version=self.version,
            namespace=self.namespace,
            url=f"{self.endpoint}/{self.name}",
            content=msgspec.json.encode(self.to_dict()),
        ) as answer:
            self.raw = answer.json()

    async def async_watch(self) -> AsyncGenerator[tuple[str, Self]]:
        """Changes of this object, of its own group: kr8s would look for the plural in all groups."""
        kind = cast(Any, type(self))
        chosen = f"metadata.name={self.name}"
        since = cast(dict[str, Any], self.metadata).get("resourceVersion")
        async for event, seen in self.api.async_watch(
            kind, namespace=self.namespace, field_selector=chosen, since=since
        ):
            self.raw = seen.raw
            yield event, self


class Rollout(Recorded[rollout.Rollout], of=ROLLOUTS):
    """A Rollout, in v1beta1."""

    type = rollout.Rollout


class RolloutHistory(Recorded[history.RolloutHistory], of=ROLLOUT_HISTORIES):
    """The record of a finished release."""

    type = history.RolloutHistory


class TrafficRouting(Recorded[trafficrouting.TrafficRouting], of=TRAFFIC_ROUTINGS):
    """Gateway objects that several Rollouts share."""

    type = trafficrouting.TrafficRouting


class Lease(Recorded[answers.Lease], of=LEASES):
    """The leadership of the controller, or of one of its shards."""

    type = answers.Lease


class Secret(Recorded[answers.Secret], of=SECRETS):
    """A Secret of certificates. Its values are not shown: `repr` has the name alone."""

    type = answers.Secret


class SelfSubjectReview(Recorded[answers.Review], of=SELF_REVIEWS):
    """The question under which name the API server knows us."""

    type = answers.Review


class SelfSubjectAccessReview(Recorded[answers.Review], of=ACCESS_REVIEWS):
    """The question whether the API server would allow a request to us."""

    type = answers.Review


class SubjectAccessReview(Recorded[answers.Review], of=SUBJECT_REVIEWS):
    """The question whether it would allow a request to somebody else."""

    type = answers.Review


class TokenReview(Recorded[answers.TokenReview], of=TOKEN_REVIEWS):
    """The question to which user a token belongs."""

    type = answers.TokenReview
