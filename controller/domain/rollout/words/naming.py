"""Names of revisions that people know: the images, and the ReplicaSet or ControllerRevision that keeps the template.

Why: our hashes appear in no manifest and in no output of kubectl. Call only to write a message: it decodes templates.
"""

import msgspec

from controller.api.workload_kinds import WorkloadKind
from controller.domain.rollout.words.release_value import Release


class _Container(msgspec.Struct, frozen=True):
    name: str = ""
    image: str = ""


class _Spec(msgspec.Struct, frozen=True):
    containers: tuple[_Container, ...] = ()


class _Template(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()


def new_in_words(release: Release) -> str:
    """The revision of the workload's present template, for messages."""
    return _joined(
        _images(bytes(release.workload.object.spec.template)),
        _keeper(release, release.new_revision),
    )


def new_images(release: Release) -> dict[str, str]:
    """The images of the workload's present template, by the name of the container."""
    found = msgspec.json.decode(bytes(release.workload.object.spec.template), type=_Template)
    return {one.name: one.image for one in found.spec.containers if one.image}


def stable_in_words(release: Release, revision: str) -> str:
    """The previous revision, found by the name its pods carry; empty if there is none."""
    kept = (
        bytes(rs.spec.template)
        for rs, _ in release.workload.replica_sets
        if rs.revision == revision
    )
    images = _images(next(kept, b"{}"))
    return _joined(images, _keeper(release, revision) or revision)


def _keeper(release: Release, revision: str) -> str:
    """Kind and name of the object that keeps the template; empty before it is created."""
    if release.kind is not WorkloadKind.DEPLOYMENT:
        names = [
            found.object or found.name
            for found in release.workload.revisions
            if found.name == revision
        ]
        return f"ControllerRevision {names[-1]}" if revision and names else ""
    seen = (release.workload, *release.seen.canaries)
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
