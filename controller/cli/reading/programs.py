"""Deployments that run a program of Moonshift or of OpenKruise Rollouts, with the fields that show which one.

Why: `version` and `install --check` recognise a controller by the image and the account in its pod template. Invariant:
only these fields are decoded; any Deployment can be read.
"""

import msgspec

from controller.api.meta import ObjectMeta


class Container(msgspec.Struct, frozen=True):
    """A container of the pod template."""

    name: str = ""
    image: str = ""


class PodSpec(msgspec.Struct, frozen=True, rename="camel"):
    """The pods' account and containers."""

    service_account_name: str = ""
    containers: tuple[Container, ...] = ()


class PodTemplate(msgspec.Struct, frozen=True):
    """The pod template."""

    spec: PodSpec = PodSpec()


class ProgramSpec(msgspec.Struct, frozen=True):
    """The spec of the Deployment."""

    replicas: int = 1
    template: PodTemplate = PodTemplate()


class Program(msgspec.Struct, frozen=True):
    """The Deployment of a program."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ProgramSpec = ProgramSpec()
