"""Questions to the API server: who are we, may we, may somebody else.

Invariant: every answer except a clear yes counts as a refusal where the question is about somebody else.
"""

from collections.abc import Mapping
from typing import TypeVar

from controller.errors import Right
from controller.kube.answers import Review
from controller.kube.kr8s_lean import Api
from controller.kube.objects import (
    Recorded,
    SelfSubjectAccessReview,
    SelfSubjectReview,
    SubjectAccessReview,
)
from controller.kube.subjects import Subject, attributes, subject_of

T = TypeVar("T")


async def whoami(api: Api) -> str:
    """The user name that the API server knows our credential by."""
    return (await answered(api, SelfSubjectReview, {})).status.user_info.username


async def may(api: Api, right: Right) -> bool:
    """The API server would allow this request to us, or to the given ServiceAccount."""
    if right.account:
        return await may_user(api, subject_of(right.account), right)
    asked = {"resourceAttributes": attributes(right)}
    return (await answered(api, SelfSubjectAccessReview, asked)).status.allowed


async def may_user(api: Api, subject: Subject, right: Right) -> bool:
    """The API server would let somebody else do this."""
    asked = {**subject._asdict(), "resourceAttributes": attributes(right)}
    return is_clear_yes(await answered(api, SubjectAccessReview, asked))


def is_clear_yes(review: Review) -> bool:
    """Whether the answer allows it and does not deny it at the same time."""
    return review.status.allowed and not review.status.denied


async def answered(api: Api, kind: type[Recorded[T]], spec: Mapping[str, object]) -> T:
    """The answer to a review of this kind."""
    question = kind({"spec": dict(spec)}, api=api)
    await question.create()
    return question.record
