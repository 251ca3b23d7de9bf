"""Answers of the API server about itself: the kinds that it serves, its version, reviews of identity and access; and
the two kinds of objects that this program alone writes.

Invariant: only the fields that the client reads, each with a default, because servers of other versions leave some out;
only the name and the kind of a served kind have none, because nothing can be asked for without them.
"""

from datetime import datetime

import msgspec

from controller.api.meta import ObjectMeta


class ServedKind(msgspec.Struct, frozen=True):
    """One kind of a group version, or a subresource of one."""

    name: str
    kind: str
    namespaced: bool = True


class ServedKinds(msgspec.Struct, frozen=True):
    """The kinds of a group version."""

    resources: tuple[ServedKind, ...] | None = ()


class ServedVersion(msgspec.Struct, frozen=True, rename="camel"):
    """One version of a group."""

    group_version: str = ""


class ServedGroup(msgspec.Struct, frozen=True, rename="camel"):
    """The versions of a group."""

    versions: tuple[ServedVersion, ...] = ()
    preferred_version: ServedVersion = ServedVersion()


class UserInfo(msgspec.Struct, frozen=True):
    """A user that a review names."""

    username: str = ""


class ReviewStatus(msgspec.Struct, frozen=True, rename="camel"):
    """The result of a review: who asked, or whether somebody may."""

    user_info: UserInfo = UserInfo()
    allowed: bool = False
    denied: bool = False


class Review(msgspec.Struct, frozen=True):
    """A review of access or identity."""

    status: ReviewStatus = ReviewStatus()


class TokenOwner(msgspec.Struct, frozen=True, omit_defaults=True):
    """The account of a token, with everything that an authorizer reads."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class TokenStatus(msgspec.Struct, frozen=True):
    """Whether a token is known, and whose it is."""

    authenticated: bool = False
    user: TokenOwner = TokenOwner()


class TokenReview(msgspec.Struct, frozen=True):
    """A review of a token."""

    status: TokenStatus = TokenStatus()


class ServerVersion(msgspec.Struct, frozen=True, rename="camel"):
    """The version of the API server."""

    git_version: str = ""


class LeaseSpec(msgspec.Struct, frozen=True, rename="camel"):
    """The holder of a lease, and the instant since which it holds it."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: datetime | None = None
    renew_time: datetime | None = None
    lease_transitions: int | None = None


class Lease(msgspec.Struct, frozen=True):
    """A lease."""

    metadata: ObjectMeta = ObjectMeta()
    spec: LeaseSpec | None = None


class Secret(msgspec.Struct, frozen=True):
    """A Secret; its values are in base64."""

    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, str] | None = None
