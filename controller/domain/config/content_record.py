"""The record of the content of each revision: how it is updated, and what follows from it.

Why pairs: for its users the same template with other content is another revision, and only this record shows it.
Invariant: pure. A deleted object changes nothing (pods cannot start without it, and a replaced one returns in a
moment), nor does an object that is newly tracked, or no longer; so only objects in both the record and the present are
compared.
"""

import re

from msgspec import structs

from controller.api.rollout import ConfigPair, TrackedConfig
from controller.domain.config.seen import ConfigSeen, ConfigWatched

_STAMP = re.compile(r"([a-z0-9]{10}(-2)?)?")
"""A stamp goes from the status into the pod template, and more people may write the status: only a digest passes."""
_SECOND_RELEASE_OF_CONTENT = "-2"
"""Makes a stamp differ from the template's present stamp if the content is the same as in an earlier revision."""


def pair_of(template: str, seen: ConfigWatched) -> ConfigPair:
    """A revision with the content that its pods read now."""
    contents = {found.name: found.digest for found in seen.objects}
    return ConfigPair(template, seen.stamp, contents)


def changes(pair: ConfigPair, seen: ConfigWatched) -> tuple[ConfigSeen, ...]:
    """Objects whose content differs from the content recorded for that revision."""
    return tuple(found for found in seen.objects if _changed(pair, found))


def gone(pair: ConfigPair, seen: ConfigWatched) -> tuple[ConfigSeen, ...]:
    """Objects that existed for that revision and exist no more."""
    return tuple(
        found for found in seen.objects if not found.digest and pair.contents.get(found.name)
    )


def agrees(pair: ConfigPair, seen: ConfigWatched) -> bool:
    """Pods that start now read the same content as those of that revision."""
    return not changes(pair, seen)


def _changed(pair: ConfigPair, found: ConfigSeen) -> bool:
    was = pair.contents.get(found.name)
    if was is None or not found.digest:
        return False
    return was != found.digest and (bool(was) or found.reference.optional)


def _refreshed(pair: ConfigPair, seen: ConfigWatched) -> ConfigPair:
    """The pair with newly tracked objects, and without objects that are no longer tracked."""
    contents = {}
    for found in seen.objects:
        was = pair.contents.get(found.name, "")
        contents[found.name] = was if was or _changed(pair, found) else found.digest
    return structs.replace(pair, contents=contents)


def at_rest(record: TrackedConfig, template: str, seen: ConfigWatched) -> TrackedConfig:
    """The record between releases: the present content is the stable one."""
    if record.update is not None and record.update.template == template:
        return TrackedConfig(stable=_refreshed(record.update, seen))
    if record.stable is None or record.stable.template != template:
        return TrackedConfig(stable=pair_of(template, seen))
    stable = _refreshed(record.stable, seen)
    if record.update is not None:
        return _way_back(stable, record.update, seen)
    return structs.replace(record, stable=stable)


def in_release(
    record: TrackedConfig, template: str, stable_template: str, seen: ConfigWatched
) -> TrackedConfig:
    """The record of a release under way; a stable revision that was never observed has no pair."""
    known = (record.stable, record.update)
    stable = next((p for p in known if p is not None and p.template == stable_template), None)
    update = record.update
    if template != stable_template:
        fits = update is not None and update.template == template
        update = (
            _refreshed(update, seen) if update is not None and fits else pair_of(template, seen)
        )
        return TrackedConfig(stable, update)
    if stable is None or update is None or update is stable:
        return TrackedConfig(stable, unrestored=record.unrestored)
    return _way_back(_refreshed(stable, seen), update, seen)


def _way_back(stable: ConfigPair, update: ConfigPair, seen: ConfigWatched) -> TrackedConfig:
    """The stable template is back. The record keeps the other revision as long as its content has to be undone.

    Content of neither revision is a new change by its owner: it stays, and is released after the rollback.
    """
    of_neither = {*changes(stable, seen)} & {*changes(update, seen)}
    if agrees(stable, seen) or of_neither:
        return TrackedConfig(stable)
    why = _obstacle(stable, seen)
    if why:
        return TrackedConfig(pair_of(stable.template, seen), unrestored=why)
    return TrackedConfig(stable, update)


def _obstacle(stable: ConfigPair, seen: ConfigWatched) -> str:
    """Why the content of the stable revision cannot be restored; all of it is restored, or nothing."""
    for found in changes(stable, seen):
        was, kept = stable.contents[found.name], seen.copy_of(found.name)
        if not was:
            return f"{found.name} did not exist for the stable revision, and is left"
        if found.immutable:
            return f"{found.name} is immutable: delete it and apply the one you want to go back to"
        if kept is None:
            return f"no copy of {found.name} is kept: apply the one you want to go back to"
        if kept.digest != was:
            return (
                f"the copy of {found.name} has other content: apply the one you want to go back to"
            )
    return ""


def to_restore(record: TrackedConfig, template: str, seen: ConfigWatched) -> tuple[ConfigSeen, ...]:
    """Objects whose content differs from the stable revision's, after a rollback."""
    if record.stable is None or record.update is None or record.stable.template != template:
        return ()
    return changes(record.stable, seen)


def to_keep(record: TrackedConfig, seen: ConfigWatched) -> tuple[ConfigSeen, ...]:
    """Content that a rollback would need, and of which there is no copy yet."""
    stable = record.stable
    if stable is None or record.update is not None:
        return ()
    return tuple(
        found
        for found in seen.objects
        if found.digest
        and found.digest == stable.contents.get(found.name)
        and ((kept := seen.copy_of(found.name)) is None or kept.digest != found.digest)
    )


def stamp_for(record: TrackedConfig, template: str, seen: ConfigWatched) -> str | None:
    """The stamp that makes the template a new revision; None if the content has not changed.

    The content of the stable revision gets that one's stamp: with an otherwise unchanged template that is the way
    back. Nothing is stamped while something is missing.
    """
    pair = record.update or record.stable
    if pair is None or pair.template != template:
        return None
    if agrees(pair, seen) or gone(pair, seen):
        return None
    stable = record.stable
    if (
        stable is not None
        and stable is not pair
        and agrees(stable, seen)
        and stable.stamp != seen.stamp
        and _STAMP.fullmatch(stable.stamp)
    ):
        return stable.stamp
    return seen.digest if seen.digest != seen.stamp else seen.digest + _SECOND_RELEASE_OF_CONTENT
