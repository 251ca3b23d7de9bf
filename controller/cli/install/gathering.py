"""Reads the facts for a check of a cluster.

Invariant: nothing is written; the only POSTs are access reviews, which change nothing. A kind that may not
be read becomes a gap; all other kinds are still read.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from controller.api.meta import Key, ObjectMeta
from controller.api.names import (
    CONTROLLER_ACCOUNT,
    CONTROLLER_POLICIES,
    GROUP,
    LEASE,
    MUTATING_CONFIGURATION,
    STATUS_POLICIES,
    VALIDATING_CONFIGURATION,
)
from controller.api.salvage import read_rollout
from controller.certificates.identity import CONDITION
from controller.cli.failures import explain
from controller.cli.install.cluster_facts import Configuration, Definition, Facts, Need, Runner
from controller.cli.install.obstacles import REQUIRED
from controller.cli.reading.controller_at_work import LeaderLease, abandoned
from controller.cli.reading.programs import Program
from controller.domain.decision import OwnScript, Reference
from controller.domain.traffic.plan.traffic_plan import references_of
from controller.errors import MoonshiftError, NotFound, Right
from controller.kube.client import KubeClient
from controller.kube.lease import KubeLeaseStore
from controller.kube.resources import (
    CRDS,
    DEPLOYMENTS,
    LEASES,
    MUTATING_WEBHOOKS,
    NAMESPACES,
    POLICIES,
    POLICY_BINDINGS,
    ROLLOUTS,
    VALIDATING_WEBHOOKS,
    Resource,
)
from controller.kube.served import served
from controller.kube.watch import read_page

PART_OF = "app.kubernetes.io/part-of"
OURS = "moonshift"
LEVEL = "pod-security.kubernetes.io/enforce"
HELM = "meta.helm.sh/release-"
TEMPLATE = "template"
"""Annotation of the original on its webhook configurations."""
PLURALS = (
    "rollouts",
    "trafficroutings",
    "rollouthistories",
    "analysistemplates",
    "clusteranalysistemplates",
    "notifications",
    "clusternotifications",
)


class Made(NamedTuple):
    """A kind of the objects in the manifests."""

    group: str
    plural: str
    namespaced: bool = True


MADE = {
    "Namespace": Made("", "namespaces", False),
    "ServiceAccount": Made("", "serviceaccounts"),
    "Service": Made("", "services"),
    "Deployment": Made("apps", "deployments"),
    "HorizontalPodAutoscaler": Made("autoscaling", "horizontalpodautoscalers"),
    "PodDisruptionBudget": Made("policy", "poddisruptionbudgets"),
    "NetworkPolicy": Made("networking.k8s.io", "networkpolicies"),
    "ClusterRole": Made("rbac.authorization.k8s.io", "clusterroles", False),
    "ClusterRoleBinding": Made("rbac.authorization.k8s.io", "clusterrolebindings", False),
    "Role": Made("rbac.authorization.k8s.io", "roles"),
    "RoleBinding": Made("rbac.authorization.k8s.io", "rolebindings"),
    "FlowSchema": Made("flowcontrol.apiserver.k8s.io", "flowschemas", False),
    "CustomResourceDefinition": Made("apiextensions.k8s.io", "customresourcedefinitions", False),
    "MutatingWebhookConfiguration": Made(
        "admissionregistration.k8s.io", "mutatingwebhookconfigurations", False
    ),
    "ValidatingWebhookConfiguration": Made(
        "admissionregistration.k8s.io", "validatingwebhookconfigurations", False
    ),
    "ValidatingAdmissionPolicy": Made(
        "admissionregistration.k8s.io", "validatingadmissionpolicies", False
    ),
    "ValidatingAdmissionPolicyBinding": Made(
        "admissionregistration.k8s.io", "validatingadmissionpolicybindings", False
    ),
}
"""By kind; a test compares it with `deploy`."""
INSTALLING = ("create", "patch")
GRANTED = frozenset(
    {
        ("networking.k8s.io", "ingresses"),
        ("gateway.networking.k8s.io", "httproutes"),
        ("networking.istio.io", "virtualservices"),
        ("networking.istio.io", "destinationrules"),
    }
)
"""Gateway kinds that the manifests' own role covers; the test looks into `deploy`."""
LEADING = ("get", "list", "watch", "patch", "update")
"""The controller's verbs on a gateway object."""
ACTING = ("get", "patch", "update")
"""The verbs that the account of a namespace's script needs."""
READING = ("get", "list", "watch")
"""The controller's verbs on the ConfigMap of such a script."""


class _Named(msgspec.Struct, frozen=True):
    name: str = ""


class _ClientConfig(msgspec.Struct, frozen=True, rename="camel"):
    ca_bundle: str | None = msgspec.field(name="caBundle", default=None)


class _Webhook(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    client_config: _ClientConfig = _ClientConfig()
    match_conditions: tuple[_Named, ...] = ()


class _Hooks(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    webhooks: tuple[_Webhook, ...] = ()


class _Version(msgspec.Struct, frozen=True):
    name: str = ""
    served: bool = False
    storage: bool = False


class _ConversionWebhook(msgspec.Struct, frozen=True, rename="camel"):
    client_config: _ClientConfig = _ClientConfig()


class _Conversion(msgspec.Struct, frozen=True):
    webhook: _ConversionWebhook | None = None


class _DefinitionSpec(msgspec.Struct, frozen=True):
    versions: tuple[_Version, ...] = ()
    conversion: _Conversion = _Conversion()


class _Definition(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: _DefinitionSpec = _DefinitionSpec()


class _Object(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


async def gather(client: KubeClient, namespace: str) -> Facts:
    """Read everything. Raises the client's errors if the server does not answer at all."""
    version = await client.server_version()
    looked = _Looked(client, namespace)
    groups = [name for group in REQUIRED for name in await looked.versions(group)]
    return Facts(
        namespace=namespace,
        version=version,
        served=frozenset(groups),
        security=await looked.security(),
        definitions=tuple([one async for one in looked.definitions()]),
        configurations=tuple([one async for one in looked.configurations()]),
        runners=tuple([one async for one in looked.runners()]),
        elsewhere=tuple([one async for one in looked.elsewhere(datetime.now(UTC))]),
        refused=tuple([one async for one in looked.refused()]),
        may_escalate=await looked.may("escalate", "clusterroles"),
        needs=tuple([one async for one in looked.needs()]),
        unserved=tuple(looked.unserved),
        unguarded=tuple([one async for one in looked.missing(STATUS_POLICIES)]),
        unlimited=tuple([one async for one in looked.missing(CONTROLLER_POLICIES)]),
        gaps=tuple(looked.gaps),
    )


class _Looked:
    """One collection of facts; it fills `gaps` and `unserved`."""

    def __init__(self, client: KubeClient, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self.gaps: list[str] = []
        self.unserved: list[tuple[str, str]] = []

    async def versions(self, group_version: str) -> tuple[str, ...]:
        """The kinds of its group that are served."""
        try:
            return await self._client.versions(group_version.partition("/")[0])
        except MoonshiftError as failure:
            self.gaps.append(f"{group_version}: {explain(failure)}")
            return (group_version,)

    async def security(self) -> str | None:
        """The namespace's Pod Security level."""
        raw = await self._read(NAMESPACES, "", self._namespace)
        if raw is None:
            return None
        return msgspec.json.decode(raw, type=_Object).metadata.labels.get(LEVEL, "")

    async def definitions(self) -> AsyncIterator[Definition]:
        """Our CustomResourceDefinitions, as far as they are there."""
        for plural in PLURALS:
            name = f"{plural}.{GROUP}"
            raw = await self._read(CRDS, "", name)
            if raw is not None:
                found = msgspec.json.decode(raw, type=_Definition)
                versions, converter = found.spec.versions, found.spec.conversion.webhook
                yield Definition(
                    name,
                    next((one.name for one in versions if one.storage), ""),
                    frozenset(one.name for one in versions if one.served),
                    _helm_release(found.metadata.annotations),
                    found.metadata.deleting,
                    converter is not None and not converter.client_config.ca_bundle,
                )

    async def configurations(self) -> AsyncIterator[Configuration]:
        """Webhook configurations of our names."""
        for resource, name in (
            (MUTATING_WEBHOOKS, MUTATING_CONFIGURATION),
            (VALIDATING_WEBHOOKS, VALIDATING_CONFIGURATION),
        ):
            raw = await self._read(resource, "", name)
            if raw is not None:
                found = msgspec.json.decode(raw, type=_Hooks)
                conditions = {one.name for hook in found.webhooks for one in hook.match_conditions}
                original = TEMPLATE in found.metadata.annotations or CONDITION not in conditions
                untrusted = tuple(h.name for h in found.webhooks if not h.client_config.ca_bundle)
                yield Configuration(resource.kind, name, original, untrusted)

    async def missing(self, policies: Sequence[str]) -> AsyncIterator[str]:
        """Those of these policies, and of their bindings, that are not there."""
        for name in policies:
            for resource in (POLICIES, POLICY_BINDINGS):
                gaps = len(self.gaps)
                if await self._read(resource, "", name) is None and len(self.gaps) == gaps:
                    yield f"{resource.kind} {name}"

    async def runners(self) -> AsyncIterator[Runner]:
        """Deployments of others that run as the controller's account."""
        async for raw in self._list(DEPLOYMENTS, self._namespace):
            found = msgspec.json.decode(raw, type=Program)
            spec = found.spec.template.spec
            ours = found.metadata.labels.get(PART_OF) == OURS
            if spec.service_account_name == CONTROLLER_ACCOUNT and found.spec.replicas and not ours:
                image = spec.containers[0].image if spec.containers else ""
                yield Runner(found.metadata.name, image, found.spec.replicas)

    async def elsewhere(self, now: datetime) -> AsyncIterator[str]:
        """Other namespaces in which a controller is at work."""
        async for raw in self._list(LEASES, None):
            meta = msgspec.json.decode(raw, type=_Object).metadata
            if meta.name != LEASE or meta.namespace == self._namespace:
                continue
            lease = await KubeLeaseStore(self._client, meta.namespace, LEASE).read()
            held = lease is not None and lease.holder
            if held and not abandoned(LeaderLease(meta.namespace, LEASE, lease), now):
                yield meta.namespace

    async def refused(self) -> AsyncIterator[str]:
        """The objects of the manifests that the person may not create."""
        for made in MADE.values():
            where = self._namespace if made.namespaced else ""
            for verb in INSTALLING:
                right = Right(verb, made.group, made.plural, "", where, "")
                if not await self._client.may(right):
                    name = f"{made.plural}.{made.group}".rstrip(".")
                    yield f"{verb} {name}" + (f" in {where}" if where else "")

    async def may(self, verb: str, plural: str) -> bool:
        """Whether the person has this right on roles."""
        right = Right(verb, "rbac.authorization.k8s.io", plural, "", "", "")
        return await self._client.may(right)

    async def needs(self) -> AsyncIterator[Need]:
        """Rights that Rollouts need, and the controller or the account of a namespace's script does not have."""
        named = [one async for one in self._references()]
        users: dict[tuple[str, str], list[Key]] = {}
        for one, user in named:
            users.setdefault((one.api_version, one.kind), []).append(user)
        for (api_version, kind), of_kind in sorted(users.items()):
            resource = await served(self._client, api_version, kind)
            if resource is None:
                self.unserved.append((f"{kind} ({api_version})", str(of_kind[0])))
            elif (resource.group, resource.plural) not in GRANTED:
                for verb in LEADING:
                    if not await self._controller_may(verb, resource, of_kind):
                        yield Need(verb, resource.group, resource.plural, str(of_kind[0]))
        for reference, user in named:
            if reference.own_script is not None:
                own = reference.own_script
                async for need in self._needs_of_script(reference, own, str(user)):
                    yield need

    async def _references(self) -> AsyncIterator[tuple[Reference, Key]]:
        """The gateway objects of Rollouts, and the Rollout of each."""
        async for raw in self._list(ROLLOUTS, None):
            rollout = read_rollout(raw)
            plan = rollout.spec.strategy.plan
            routings = plan.traffic_routings if plan is not None else ()
            for one in references_of(
                routings, disable_generate=False, namespace=rollout.metadata.namespace
            ):
                yield one, rollout.metadata.key

    async def _needs_of_script(
        self, reference: Reference, own: OwnScript, user: str
    ) -> AsyncIterator[Need]:
        """The rights that a namespace's script needs: its account on the object, the controller on the ConfigMap."""
        resource = await served(self._client, reference.api_version, reference.kind)
        for verb in ACTING if resource is not None else ():
            assert resource is not None
            place = own.namespace if resource.namespaced else ""
            right = Right(
                verb, resource.group, resource.plural, "", place, reference.name,
                str(own.account_key),
            )  # fmt: skip
            if not await self._may(right):
                yield Need(verb, resource.group, resource.plural, user, right.account)
        for verb in READING:
            right = Right(
                verb, "", "configmaps", "", own.namespace, own.config_map, self._controller
            )
            if not await self._may(right):
                yield Need(verb, "", "configmaps", user, name=own.config_map)

    @property
    def _controller(self) -> str:
        return f"{self._namespace}/{CONTROLLER_ACCOUNT}"

    async def _controller_may(self, verb: str, resource: Resource, users: Sequence[Key]) -> bool:
        """Everywhere; or, where it serves one namespace, in the namespace of one of the Rollouts."""
        places = ("", *sorted({user.namespace for user in users if resource.namespaced}))
        for place in places:
            right = Right(verb, resource.group, resource.plural, "", place, "", self._controller)
            if await self._may(right):
                return True
        return False

    async def _may(self, right: Right) -> bool:
        """Whether an account has a right; a question that the API server does not answer counts as a gap."""
        try:
            return await self._client.may(right)
        except MoonshiftError as failure:
            gap = f"the rights of accounts on gateway kinds: {explain(failure)}"
            if gap not in self.gaps:
                self.gaps.append(gap)
            return True

    async def _read(self, resource: Resource, namespace: str, name: str) -> bytes | None:
        try:
            return await self._client.get(resource, namespace, name)
        except NotFound:
            return None
        except MoonshiftError as failure:
            self.gaps.append(f"{resource.kind} {name}: {explain(failure)}")
            return None

    async def _list(self, resource: Resource, namespace: str | None) -> AsyncIterator[msgspec.Raw]:
        try:
            async for page in self._client.list_pages(resource, namespace):
                for item in read_page(page).items or ():
                    yield item
        except NotFound:
            return
        except MoonshiftError as failure:
            self.gaps.append(f"{resource.name}: {explain(failure)}")


def _helm_release(annotations: Mapping[str, str]) -> str:
    """The Helm release of a CRD. Our chart's CRDs have none: Helm does not manage its folder `crds`."""
    name = annotations.get(f"{HELM}name")
    return f"Helm release {annotations.get(f'{HELM}namespace', '')}/{name}" if name else ""
