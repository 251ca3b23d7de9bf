"""Writes the record of a release when it is over, however it ended.

Invariant: decided in the pass that ends the release, before its status is reset; a record that cannot be written delays
nothing.
"""

import msgspec

from controller.domain.decision import Action, RecordRelease
from controller.domain.history import FinishedRelease, Outcome, history_of
from controller.domain.rollout.words.release_value import Release


def recorded(release: Release, outcome: Outcome) -> tuple[Action, ...]:
    """The record of the release that `status` is about; nothing if records are not kept, or no release was under
    way.
    """
    keep = release.seen.histories_kept
    inner = release.shown
    if keep <= 0 or not release.ours.visits:
        return ()
    finished = FinishedRelease(
        rollout=release.seen.rollout,
        ours=release.ours,
        rollout_id=inner.observed_rollout_id,
        revision=release.ours.revision,
        steps=release.steps,
        outcome=outcome,
        now=release.now,
        workload=_workload(release, outcome),
        pods=release.promoted_pods if release.seen.workload is not None else (),
        routes=release.seen.routes,
        services=_services(release),
    )
    return (RecordRelease(history_of(finished), keep),)


def _workload(release: Release, outcome: Outcome) -> msgspec.Raw | None:
    """The workload's spec, if it is still the spec of the release."""
    if release.seen.workload is None or outcome is Outcome.SUPERSEDED:
        return None
    return msgspec.Raw(msgspec.json.encode(release.workload.object.spec))


def _services(release: Release) -> tuple[tuple[str, msgspec.Raw], ...]:
    return tuple(
        (name, msgspec.Raw(msgspec.json.encode(found.spec)))
        for name in release.stable_services
        if (found := release.service(name)) is not None
    )
