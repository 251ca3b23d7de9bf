"""Facts about gateway objects and Services, and the plan that a Rollout's gateway objects follow during one step."""

from datetime import datetime

import msgspec

from controller.api.meta import Key
from controller.api.rollout import HeaderModifier, HttpRouteMatch, PatchMetadata
from controller.domain.decision.value import Value


class OwnScript(Value, frozen=True):
    """A script of a namespace: a key of a ConfigMap there (empty: that of the kind), and the ServiceAccount there with
    whose rights it acts.
    """

    namespace: str
    config_map: str
    account: str
    key: str = ""

    @property
    def account_key(self) -> Key:
        """The ServiceAccount."""
        return Key(self.namespace, self.account)

    @property
    def config_map_key(self) -> Key:
        """The ConfigMap."""
        return Key(self.namespace, self.config_map)


class Reference(Value, frozen=True):
    """One gateway object that a Rollout routes traffic with, and the stable and canary Service in it.

    `class_type` is set for an Ingress (sibling style) only. `script` is `""` (default look-up), `packaged` or
    `configMap`; with `own_script` the namespace's own script is used. `params` is JSON of the reference's own
    parameters.
    """

    api_version: str
    kind: str
    name: str
    stable_service: str
    canary_service: str
    class_type: str = ""
    script: str = ""
    params: msgspec.Raw = msgspec.Raw(b"{}")
    own_script: OwnScript | None = None

    @property
    def group(self) -> str:
        """API group: empty for the core group."""
        group, slash, _ = self.api_version.partition("/")
        return group if slash else ""

    @property
    def shared(self) -> bool:
        """Both revisions share one Service on purpose; subsets of the gateway object separate them."""
        return self.stable_service == self.canary_service

    def name_in(self, namespace: str) -> str:
        """Kind, namespace and name, for messages."""
        return f"{self.kind} {namespace}/{self.name}"

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


class PartialMatches(Value, frozen=True):
    """The alternatives of a step that one gateway object can express, if it cannot express all."""

    reference: Reference
    matches: tuple[HttpRouteMatch, ...]


class RoutePlan(Value, frozen=True):
    """The content of all gateway objects of a Rollout during one step.

    `weight` is the share of the new revision in percent, None when the step names matches only. `identity` is given by
    the planner: equal identities mean that nothing has to be written. `left_out` are the references that cannot express
    any of the plan's matches: they send everything to the stable revision. The references of
    `partial` can express these alternatives only: all other requests through them go to the stable revision. `others`
    are references of the same owner, also those of other plans: companion objects beside these stay.
    """

    identity: str
    namespace: str
    rollout: str
    release: str
    references: tuple[Reference, ...]
    weight: float | None = None
    matches: tuple[HttpRouteMatch, ...] = ()
    header_modifier: HeaderModifier | None = None
    pod_metadata: PatchMetadata = PatchMetadata()
    rollout_uid: str = ""
    left_out: tuple[Reference, ...] = ()
    partial: tuple[PartialMatches, ...] = ()
    announces: bool = False
    """Nothing goes to the new revision yet, or any more; proxies only get to know its Services."""
    others: tuple[Reference, ...] = ()
    stable_labels: dict[str, str] | None = None
    """Labels of the stable pods; None if they are not known. They tell which subsets of a Service are the release's.
    They are the same for the whole release, so they are no part of the identity.
    """

    def for_reference(self, reference: Reference) -> "RoutePlan":
        """The plan with the matches that this reference can express, and the identity of the whole plan."""
        for part in self.partial:
            if part.reference == reference:
                return msgspec.structs.replace(self, matches=part.matches)
        return self


class EnsureRoutes(Value, frozen=True, tag=True):
    """All gateway objects follow the plan, written in dependency order.

    `at` is recorded on objects whose part of ours is put back after somebody changed it. For `settles_in` seconds more
    no object may name what deeper objects say.
    """

    plan: RoutePlan
    at: datetime | None = None
    settles_in: float = 0.0


LaterSteps = tuple[tuple[int, RoutePlan], ...]
"""Plans of later steps, each with the number of its step."""


class RehearseRoutes(Value, frozen=True, tag=True):
    """Everything that `EnsureRoutes` of this plan finds out before its first write is fine; nothing is written.

    The scripts accept the plans of `later` steps, too. The API server is not asked about these: its answer depends on
    the objects of that moment.
    """

    plan: RoutePlan
    later: LaterSteps = ()


class RestoreRoutes(Value, frozen=True, tag=True):
    """These gateway objects have their original content again, restored in reverse order.

    With `rollout` given, an object that another Rollout uses is not changed. The companion objects of the
    Rollout of `rollout_uid` are deleted, except those beside references of
    its owner (`others`) that are not restored now.
    """

    namespace: str
    references: tuple[Reference, ...]
    release: str
    rollout: str = ""
    rollout_uid: str = ""
    others: tuple[Reference, ...] = ()


class PinService(Value, frozen=True, tag=True):
    """The Service selects one revision only."""

    service: Key
    resource_version: str
    label: str
    revision: str


class UnpinService(Value, frozen=True, tag=True):
    """The Service has its owner's own selector."""

    service: Key
    resource_version: str
    label: str


class EnsureCanaryService(Value, frozen=True, tag=True):
    """A copy of the stable Service selects the new revision."""

    stable: Key
    name: str
    label: str
    revision: str
    rollout_uid: str
    selector_patch: dict[str, str] = {}
    appends: bool = False
    """The patch counts for labels, too, that the stable Service does not select by."""
    stable_version: str = ""
    """The resource version of the observed stable Service."""
    renewed: bool = False
    """An existing copy gets the selector that the stable Service has now."""
