"""The facts about a cluster that the check judges, as values.

Invariant: frozen; an object that could not be read is named in `gaps`, never taken for absent.
"""

from typing import NamedTuple

import msgspec


class Definition(msgspec.Struct, frozen=True):
    """A CustomResourceDefinition of ours that is there already."""

    name: str
    storage: str
    """The version in which objects are stored from now on."""
    served: frozenset[str]
    owner: str = ""
    """Another manager of it, such as `Helm release kruise/rollouts`; empty if there is none."""
    leaving: bool = False
    """It is being deleted, with every object of its kind."""
    untrusted: bool = False
    """Its conversion is a webhook without a `caBundle`, so the API server cannot convert."""


class Configuration(msgspec.Struct, frozen=True):
    """A webhook configuration of our name that is there already."""

    kind: str
    name: str
    original: bool
    """The original's controller wrote it."""
    untrusted: tuple[str, ...] = ()
    """Its entries without a `caBundle`: the API server trusts no answer to them."""


class Runner(msgspec.Struct, frozen=True):
    """A Deployment that runs as the controller's account, and is not ours."""

    name: str
    image: str
    replicas: int


class Need(NamedTuple):
    """A right that somebody needs for Rollouts that are there: on a gateway kind, or on a ConfigMap with scripts."""

    verb: str
    group: str
    resource: str
    rollout: str
    """One Rollout that needs it, `namespace/name`."""
    account: str = ""
    """The ServiceAccount of a namespace's script that needs it, `namespace/name`; the controller itself if empty."""
    name: str = ""
    """The object, if the right is needed by name."""


class Facts(msgspec.Struct, frozen=True):
    """Everything that is known of the cluster."""

    namespace: str
    version: str
    """The API server's, such as `v1.35.4`."""
    served: frozenset[str]
    """Group versions, such as `apps/v1`."""
    security: str | None
    """The namespace's Pod Security level; empty if it has none, None if there is no such namespace."""
    definitions: tuple[Definition, ...] = ()
    configurations: tuple[Configuration, ...] = ()
    runners: tuple[Runner, ...] = ()
    elsewhere: tuple[str, ...] = ()
    """Other namespaces in which a controller renews its Lease now."""
    refused: tuple[str, ...] = ()
    """Rights that the person lacks, such as `create deployments.apps in kruise-rollout`."""
    may_escalate: bool = True
    """The person may create roles with rights that the person does not have."""
    needs: tuple[Need, ...] = ()
    unserved: tuple[tuple[str, str], ...] = ()
    """Gateway kinds that are not served, each with one Rollout that names it."""
    unguarded: tuple[str, ...] = ()
    """Policies on the status, and their bindings, that are not there, each as `Kind name`."""
    unlimited: tuple[str, ...] = ()
    """The same for policies that limit the controller's own account."""
    gaps: tuple[str, ...] = ()
    """Objects that could not be read, and why."""
