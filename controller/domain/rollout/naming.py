"""Revisions in words that people know: the images, and the ReplicaSet or ControllerRevision that keeps the template.

Why: a hash of ours is in no manifest and in no output of kubectl. Must only be asked where something is told: it reads
templates.
"""

import msgspec

from controller.api.workload_kinds import WorkloadKind
from controller.domain.rollout.situation import Situation


class _Container(msgspec.Struct, frozen=True):
    image: str = ""


class _Spec(msgspec.Struct, frozen=True):
    containers: tuple[_Container, ...] = ()


class _Template(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()


def new_in_words(sit: Situation) -> str:
    """The revision of the workload's present template."""
    return _joined(
        _images(bytes(sit.workload.object.spec.template)), _keeper(sit, sit.new_revision)
    )


def stable_in_words(sit: Situation, revision: str) -> str:
    """The revision that ran before, by the name its pods carry; empty where there is none."""
    kept = (
        bytes(rs.spec.template) for rs, _ in sit.workload.replica_sets if rs.revision == revision
    )
    images = _images(next(kept, b"{}"))
    return _joined(images, _keeper(sit, revision) or revision)


def _keeper(sit: Situation, revision: str) -> str:
    """Kind and name of the object that keeps the template; empty where it is not made yet."""
    if sit.kind is not WorkloadKind.DEPLOYMENT:
        names = [
            found.object or found.name for found in sit.workload.revisions if found.name == revision
        ]
        return f"ControllerRevision {names[-1]}" if revision and names else ""
    seen = (sit.workload, *sit.seen.canaries)
    sets = (rs for workload in seen for rs, _ in workload.replica_sets)
    return next(
        (f"ReplicaSet {rs.metadata.name}" for rs in sets if revision and rs.revision == revision),
        "",
    )


def _images(template: bytes) -> str:
    found = msgspec.json.decode(template, type=_Template)
    return ", ".join(dict.fromkeys(c.image for c in found.spec.containers if c.image))


def _joined(images: str, keeper: str) -> str:
    return f"{images} ({keeper})" if images and keeper else images or keeper
