"""Releases changes of configuration: a changed ConfigMap or Secret is released like a change of the template.

How: a digest of the content is stamped into the pod template, through admission's own rules, so that all rules for
templates (the freeze, a third revision, the rollback) apply to content as well. Invariant: two people have to ask for
it, the administrator by a flag and the owner by the Rollout's annotation; otherwise nothing is read or written. A
rollback never waits for content.
"""

from typing import assert_never

from controller.api.meta import Key, OwnerReference
from controller.api.names import CONFIG_COPY_INFIX, ROLLOUT_ID, TRACK_CONFIG, V1BETA1
from controller.api.rollout import Phase, Rollout, RolloutStatus, TrackedConfig
from controller.api.workload_kinds import KindName
from controller.api.workloads import MAX_NAME, safe_hash
from controller.domain import reasons
from controller.domain.config.content_record import (
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
    DeleteObject,
    KeepConfig,
    Note,
    RestoreConfig,
    Severity,
    StampTemplate,
)
from controller.domain.pods.marks import hold_on
from controller.domain.rollout.words.release_context import moonshift_status
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.status import condition, with_moonshift_status
from controller.domain.rollout.words.transition import Stop

TRACKED = "ConfigTracked"
"""Type of the condition."""


def asks_for_tracking(rollout: Rollout) -> bool:
    """The owner wants changes of ConfigMaps and Secrets to be released."""
    return rollout.metadata.annotations.get(TRACK_CONFIG) == "true"


def follows_config(rollout: Rollout) -> bool:
    """The Rollout tracks content: its owner asks for it, or copies of earlier content still exist."""
    return asks_for_tracking(rollout) or moonshift_status(rollout.status).config is not None


def record_of(status: RolloutStatus) -> TrackedConfig:
    """The recorded configuration of the revisions."""
    return moonshift_status(status).config or TrackedConfig()


def without_config(status: RolloutStatus) -> RolloutStatus:
    """Remove the record: from now on pods read content that no release has approved."""
    return (
        with_moonshift_status(status, config=None)
        if moonshift_status(status).config is not None
        else status
    )


def followed(release: Release) -> Release:
    """The record and the condition, updated from the present content."""
    if not asks_for_tracking(release.seen.rollout):
        copies = isinstance(release.seen.config, ConfigWatched) and release.seen.config.copies
        return (
            release
            if copies
            else release.at(without_config(release.status)).without_condition(TRACKED)
        )
    match release.seen.config:
        case ConfigWatched() as seen:
            return _with_tracking_condition(_recorded(release, seen), seen)
        case ConfigUnwatched(reason=reason, message=message):
            return release.with_condition(TRACKED, "False", reason, message)
        case None:
            return release
        case unknown:
            assert_never(unknown)


def _recorded(release: Release, seen: ConfigWatched) -> Release:
    record, template = record_of(release.status), release.template_hash
    if release.status.phase == Phase.PROGRESSING:
        now = in_release(record, template, release.ours.stable_template, seen)
    elif hold_on(release.workload.object).rollout:
        return release
    elif release.replicas == 0:
        # Without pods there is nothing to release.
        now = at_rest(TrackedConfig(), template, seen)
    else:
        now = at_rest(record, template, seen)
    return release.noting(config=now)


def _with_tracking_condition(release: Release, seen: ConfigWatched) -> Release:
    message = (_named(seen.objects) or "nothing") + _unasked(seen)
    value, reason = "True", reasons.CONFIG_TRACKED
    record = record_of(release.status)
    pair = record.update or record.stable
    missing = gone(pair, seen) if pair is not None else ()
    if missing:
        value, reason = "False", reasons.CONFIG_GONE
        message = f"{_named(missing)}: does not exist any more; nothing is released before it is applied again"
    elif record.unrestored:
        value, reason, message = "False", reasons.CONFIG_NOT_RESTORED, record.unrestored
    elif _would_not_be_frozen(release) and pair is not None and changes(pair, seen):
        value, reason = "False", reasons.CONFIG_NOT_HELD
        message = (
            f"{_named(changes(pair, seen))}: not released, because the annotation {ROLLOUT_ID} of "
            f"{release.workload_name} alone starts a release: remove it to release changed content"
        )
    return release.with_condition(TRACKED, value, reason, message)


def _unasked(seen: ConfigWatched) -> str:
    """The Secrets that are not tracked, and what their owners have to do."""
    if not seen.unasked:
        return ""
    return (
        f"; not {', '.join(seen.unasked)}: a person who may write the Secret annotates it {TRACK_CONFIG}=true to have "
        "its changes released"
    )


def _named(objects: tuple[ConfigSeen, ...]) -> str:
    return ", ".join(found.name for found in objects)


def _would_not_be_frozen(release: Release) -> bool:
    """The change would go to all pods at once: at rest, an annotation of the owner alone decides what begins a
    release.
    """
    return release.status.phase != Phase.PROGRESSING and ROLLOUT_ID in release.meta.annotations


def notes_of(
    before: RolloutStatus, after: RolloutStatus, housekeeping: tuple[Action, ...]
) -> tuple[Note, ...]:
    """Notes about restored content, and about a problem of tracking when it first appears."""
    restored = (action for action in housekeeping if isinstance(action, RestoreConfig))
    return (*_newly_wrong(before, after), *(_restored_note(action) for action in restored))


def _restored_note(action: RestoreConfig) -> Note:
    text = (
        f"{named(action.kind, action.target.name)}: the content of the stable revision is restored"
    )
    return Note(reasons.CONFIG_RESTORED, text)


def _newly_wrong(before: RolloutStatus, after: RolloutStatus) -> tuple[Note, ...]:
    was, present = condition(before, TRACKED), condition(after, TRACKED)
    if present is None or present.status == "True":
        return ()
    if was is not None and (was.status, was.message) == (present.status, present.message):
        return ()
    return (Note(present.reason, present.message, Severity.WARNING),)


def stamped(release: Release) -> Stop | None:
    """Stamp changed content as another revision; None if none has changed, or a release cannot begin now."""
    seen = release.seen.config
    if not isinstance(seen, ConfigWatched) or not _may_be_released(release):
        return None
    record = record_of(release.status)
    stamp = stamp_for(record, release.template_hash, seen)
    pair = record.update or record.stable
    if stamp is None or pair is None:
        return None
    action = StampTemplate(
        kind=release.kind_name,
        workload=release.workload_key,
        generation=release.meta.generation,
        stamp=stamp,
        replica_sets=tuple(rs for rs, _ in release.workload.replica_sets),
    )
    text = f"{_named(changes(pair, seen))}: the content changed, and is released with the pods"
    return release.stop(action, notes=(Note(reasons.CONFIG_CHANGED, text),))


def _may_be_released(release: Release) -> bool:
    """The change would be released in steps: by a release under way that is not going back, or by a new one."""
    if not (asks_for_tracking(release.seen.rollout) and release.labelled):
        return False
    ours = release.ours
    if release.status.phase == Phase.PROGRESSING:
        return (
            release.template_hash != ours.stable_template and release.meta.uid == ours.workload_uid
        )
    return not hold_on(release.workload.object).rollout and not _would_not_be_frozen(release)


# --- copies -------------------------------------------------------------------------------------


def config_housekeeping(release: Release) -> tuple[Action, ...]:
    """Restore content before a rollback begins; at other times, keep copies for a rollback."""
    seen = release.seen.config
    if not isinstance(seen, ConfigWatched) or release.seen.workload is None:
        return ()
    if not asks_for_tracking(release.seen.rollout):
        return tuple(_drop(release, kept) for kept in seen.copies)
    record = record_of(release.status)
    put_back = tuple(
        _restore(release, found, kept)
        for found in to_restore(record, release.template_hash, seen)
        if (kept := seen.copy_of(found.name)) is not None
    )
    if put_back:
        return put_back
    stable = record.stable
    useless = (kept for kept in seen.copies if stable is None or kept.source not in stable.contents)
    return (
        *(_keep(release, found) for found in to_keep(record, seen)),
        *(_drop(release, kept) for kept in useless),
    )


def _keep(release: Release, found: ConfigSeen) -> KeepConfig:
    meta = release.seen.rollout.metadata
    owner = OwnerReference(V1BETA1, "Rollout", meta.name, meta.uid)
    source = Key(release.namespace, found.reference.name)
    copy = copy_name(meta.name, found.name)
    return KeepConfig(found.reference.kind, source, found.digest, copy, owner)


def copy_name(rollout: str, content: str) -> str:
    """`<rollout>-config-<hash of the content's name>`. If it would be too long for an object's name, the beginning of
    the Rollout's name is kept, and its whole name is hashed, too."""
    name = f"{rollout}{CONFIG_COPY_INFIX}{safe_hash(content.encode())}"
    if len(name) <= MAX_NAME:
        return name
    end = f"{CONFIG_COPY_INFIX}{safe_hash(f'{rollout}/{content}'.encode())}"
    return rollout[: MAX_NAME - len(end)].rstrip(".-") + end


def _restore(release: Release, found: ConfigSeen, kept: KeptConfig) -> RestoreConfig:
    target = Key(release.namespace, found.reference.name)
    return RestoreConfig(
        found.reference.kind, target, found.resource_version, kept.digest, kept.name
    )


def _drop(release: Release, kept: KeptConfig) -> DeleteObject:
    kind, copy = KindName("v1", kept.kind), Key(release.namespace, kept.name)
    return DeleteObject(kind, copy, kept.uid, alone=True)
