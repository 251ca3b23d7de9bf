"""Answers of the API server about itself: the kinds that it serves, its version, and reviews of identity and access.

Invariant: only the fields that the client reads, each with a default, because servers of other versions leave some out;
only the name and the kind of a served kind have none, because nothing can be asked for without them.
"""

import msgspec


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


class ServerVersion(msgspec.Struct, frozen=True, rename="camel"):
    """The version of the API server."""

    git_version: str = ""
