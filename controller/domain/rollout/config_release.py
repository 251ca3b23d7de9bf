"""Releasing what pods read at their start: a changed ConfigMap or Secret is a change of the template like any other.

How: a change is stamped into the pod template, through admission's own rules, so that everything that is known of
templates (the hold, a third revision, the way back) holds for content as well. Invariant: asked for twice, by the
administrator's flag and by the Rollout's annotation; without both nothing is read or written. A way back never waits
for content.
"""

from typing import assert_never

from controller.api.meta import Key, OwnerReference
from controller.api.names import CONFIG_COPY_INFIX, ROLLOUT_ID, TRACK_CONFIG, V1BETA1
from controller.api.rollout import Phase, Rollout, RolloutStatus, TrackedConfig
from controller.api.workloads import safe_hash
from controller.domain import reasons
from controller.domain.config.record import (
    at_rest,
    changes,
    gone,
    in_release,
    stamp_for,
    to_keep,
    to_restore,
)
from controller.domain.config.references import named
from controller.domain.config.seen import ConfigSeen, ConfigUnwatched, ConfigWatched, KeptConfig
from controller.domain.decision import (
    Action,
    DropConfig,
    KeepConfig,
    Note,
    RestoreConfig,
    Severity,
    StampTemplate,
)
from controller.domain.pods.marks import marked_for
from controller.domain.rollout.situation import Situation, position
from controller.domain.rollout.status import (
    condition,
    with_condition,
    with_position,
    without_condition,
)
from controller.domain.rollout.turn import Stop

TRACKED = "ConfigTracked"
"""Type of the condition."""


def asks_for_tracking(rollout: Rollout) -> bool:
    """Its owner wants changes of ConfigMaps and Secrets to be released."""
    return rollout.metadata.annotations.get(TRACK_CONFIG) == "true"


def follows_config(rollout: Rollout) -> bool:
    """The content matters to this Rollout: it is asked for, or what was kept of it is still there."""
    return asks_for_tracking(rollout) or position(rollout.status).config is not None


def record_of(status: RolloutStatus) -> TrackedConfig:
    """What is known of the configuration of the revisions."""
    return position(status).config or TrackedConfig()


def without_config(status: RolloutStatus) -> RolloutStatus:
    """Nothing is remembered: what pods read from now on was released by nobody."""
    return with_position(status, config=None) if position(status).config is not None else status


def followed(sit: Situation, status: RolloutStatus) -> RolloutStatus:
    """The record brought up to date with what there is, and the condition with it."""
    if not asks_for_tracking(sit.seen.rollout):
        copies = isinstance(sit.seen.config, ConfigWatched) and sit.seen.config.copies
        return without_condition(status if copies else without_config(status), TRACKED)
    match sit.seen.config:
        case ConfigWatched() as seen:
            return _said(sit, _recorded(sit, status, seen), seen)
        case ConfigUnwatched(reason=reason, message=message):
            return with_condition(status, TRACKED, "False", reason, message, sit.now)
        case None:
            return status
        case unknown:
            assert_never(unknown)


def _recorded(sit: Situation, status: RolloutStatus, seen: ConfigWatched) -> RolloutStatus:
    record, template = record_of(status), sit.template_hash
    if status.phase == Phase.PROGRESSING:
        now = in_release(record, template, position(status).stable_template, seen)
    elif marked_for(sit.workload.object):
        return status
    elif sit.replicas == 0:
        # No pods, nothing to release.
        now = at_rest(TrackedConfig(), template, seen)
    else:
        now = at_rest(record, template, seen)
    return with_position(status, config=now)


def _said(sit: Situation, status: RolloutStatus, seen: ConfigWatched) -> RolloutStatus:
    value, reason, message = "True", reasons.CONFIG_TRACKED, _named(seen.objects) or "nothing"
    record = record_of(status)
    pair = record.update or record.stable
    missing = gone(pair, seen) if pair is not None else ()
    if missing:
        value, reason = "False", reasons.CONFIG_GONE
        message = f"{_named(missing)}: does not exist any more; nothing is released before it is applied again"
    elif record.unrestored:
        value, reason, message = "False", reasons.CONFIG_NOT_RESTORED, record.unrestored
    elif _would_not_be_held(sit, status) and pair is not None and changes(pair, seen):
        value, reason = "False", reasons.CONFIG_NOT_HELD
        message = (
            f"{_named(changes(pair, seen))}: not released, because the annotation {ROLLOUT_ID} of "
            f"{sit.workload_name} says what is: remove it to have changed content released"
        )
    return with_condition(status, TRACKED, value, reason, message, sit.now)


def _named(objects: tuple[ConfigSeen, ...]) -> str:
    return ", ".join(found.name for found in objects)


def _would_not_be_held(sit: Situation, status: RolloutStatus) -> bool:
    """At rest the annotation, where there is one, decides alone about what begins a release."""
    return status.phase != Phase.PROGRESSING and ROLLOUT_ID in sit.meta.annotations


def notes_of(
    before: RolloutStatus, after: RolloutStatus, duties: tuple[Action, ...]
) -> tuple[Note, ...]:
    """What is put back, and what is wrong with tracking when it comes up, not each time it is looked at."""
    restored = (action for action in duties if isinstance(action, RestoreConfig))
    return (*_newly_wrong(before, after), *(_put_back(action) for action in restored))


def _put_back(action: RestoreConfig) -> Note:
    text = (
        f"{named(action.kind, action.target.name)}: the content of the stable revision is put back"
    )
    return Note(reasons.CONFIG_RESTORED, text)


def _newly_wrong(before: RolloutStatus, after: RolloutStatus) -> tuple[Note, ...]:
    was, said = condition(before, TRACKED), condition(after, TRACKED)
    if said is None or said.status == "True":
        return ()
    if was is not None and (was.status, was.message) == (said.status, said.message):
        return ()
    return (Note(said.reason, said.message, Severity.WARNING),)


def stamped(sit: Situation, status: RolloutStatus) -> Stop | None:
    """Make a changed content another revision of the workload; None where none has changed, or it may not be now."""
    seen = sit.seen.config
    if not isinstance(seen, ConfigWatched) or not _may_be_released(sit, status):
        return None
    record = record_of(status)
    stamp = stamp_for(record, sit.template_hash, seen)
    pair = record.update or record.stable
    if stamp is None or pair is None:
        return None
    action = StampTemplate(
        kind=sit.kind_name,
        workload=sit.workload_key,
        generation=sit.meta.generation,
        stamp=stamp,
        replica_sets=tuple(rs for rs, _ in sit.workload.replica_sets),
    )
    text = f"{_named(changes(pair, seen))}: the content changed, and is released with the pods"
    return Stop(status, (action,), notes=(Note(reasons.CONFIG_CHANGED, text),))


def _may_be_released(sit: Situation, status: RolloutStatus) -> bool:
    """The change would be held: by a release under way that is not on its way back, or by the next."""
    if not (asks_for_tracking(sit.seen.rollout) and sit.labelled):
        return False
    ours = position(status)
    if status.phase == Phase.PROGRESSING:
        return sit.template_hash != ours.stable_template and sit.meta.uid == ours.workload_uid
    return not marked_for(sit.workload.object) and not _would_not_be_held(sit, status)


# --- copies -------------------------------------------------------------------------------------


def config_duties(sit: Situation, status: RolloutStatus) -> tuple[Action, ...]:
    """What is put back before anything of a way back is done, and what is kept for one while there is none."""
    seen = sit.seen.config
    if not isinstance(seen, ConfigWatched) or sit.seen.workload is None:
        return ()
    if not asks_for_tracking(sit.seen.rollout):
        return tuple(_drop(sit, kept) for kept in seen.copies)
    record = record_of(status)
    put_back = tuple(
        _restore(sit, found, kept)
        for found in to_restore(record, sit.template_hash, seen)
        if (kept := seen.copy_of(found.name)) is not None
    )
    if put_back:
        return put_back
    stable = record.stable
    useless = (kept for kept in seen.copies if stable is None or kept.source not in stable.contents)
    return (
        *(_keep(sit, found) for found in to_keep(record, seen)),
        *(_drop(sit, kept) for kept in useless),
    )


def _keep(sit: Situation, found: ConfigSeen) -> KeepConfig:
    meta = sit.seen.rollout.metadata
    owner = OwnerReference(V1BETA1, "Rollout", meta.name, meta.uid)
    source = Key(sit.namespace, found.reference.name)
    copy = f"{meta.name}{CONFIG_COPY_INFIX}{safe_hash(found.name.encode())}"
    return KeepConfig(found.reference.kind, source, found.digest, copy, owner)


def _restore(sit: Situation, found: ConfigSeen, kept: KeptConfig) -> RestoreConfig:
    target = Key(sit.namespace, found.reference.name)
    return RestoreConfig(
        found.reference.kind, target, found.resource_version, kept.digest, kept.name
    )


def _drop(sit: Situation, kept: KeptConfig) -> DropConfig:
    return DropConfig(kept.kind, Key(sit.namespace, kept.name), kept.uid)
