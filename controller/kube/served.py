"""Finds the version in which the server has a kind.

Versions of a group change: one cluster serves HTTPRoute as v1, another one as v1beta1 or v1alpha2, and a reference must
not break with the upgrade of a CRD. So the version of the reference is tried first, then the group's other versions,
the preferred one first: for the server they are the same object.
Invariant: group and kind are never guessed; a kind that no version of its group has is not served; a tenant's text
becomes part of an address only if it has the form of a group and a version.
"""

from typing import Protocol

from controller.errors import NotFound
from controller.kube.resources import Resource, is_api_version


class Discovery(Protocol):
    """The methods of the API client that are used here."""

    async def discover(self, group_version: str) -> tuple[Resource, ...]: ...

    async def versions(self, group: str) -> tuple[str, ...]: ...


async def served(client: Discovery, api_version: str, kind: str) -> Resource | None:
    """The kind in `api_version`, else in another version of its group; None when there is none."""
    if not is_api_version(api_version):
        return None
    found = await _kind_of(client, api_version, kind)
    if found is not None:
        return found
    group, slash, _ = api_version.partition("/")
    for other in await client.versions(group if slash else ""):
        if other != api_version and (found := await _kind_of(client, other, kind)) is not None:
            return found
    return None


async def _kind_of(client: Discovery, api_version: str, kind: str) -> Resource | None:
    try:
        kinds = await client.discover(api_version)
    except NotFound:
        return None
    return next((resource for resource in kinds if resource.kind == kind), None)
