"""The subject of an access review: a user with everything that the API server's authorizer reads.

Invariant: a ServiceAccount is reviewed with the groups that every ServiceAccount has, as if it sent the request itself;
a right that it has by a group counts.
"""

from collections.abc import Mapping
from typing import NamedTuple

from controller.errors import Right


class Subject(NamedTuple):
    """A user as authentication knows it."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}


def subject_of(account: str) -> Subject:
    """A ServiceAccount, `namespace/name`."""
    namespace, _, name = account.partition("/")
    groups = (
        "system:serviceaccounts",
        f"system:serviceaccounts:{namespace}",
        "system:authenticated",
    )
    return Subject(f"system:serviceaccount:{namespace}:{name}", groups=groups)


def attributes(right: Right) -> dict[str, str]:
    """The right as a review names it; an empty field means all."""
    named = right._asdict()
    del named["account"]
    return {key: value for key, value in named.items() if value}
