"""Contents and templates changed in any order, approved or not: the world comes to rest, and as somebody wished."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from controller.api.config import ConfigKind
from controller.api.rollout import Phase
from controller.domain.config.content_record import agrees
from controller.domain.config.seen import ConfigWatched
from tests.unit.builders import KEY, status_of, wait
from tests.unit.domain.rollout.scenes import approve
from tests.unit.domain.rollout.tracking import (
    CONFIG_MAP,
    SECRET,
    content,
    copies,
    finish,
    reading,
    record,
    running,
    says,
    stamp,
    tracking,
    tracking_condition,
)
from tests.unit.worlds import World

UserAction = tuple[str, str]
DEEDS: dict[str, Callable[[World, str], object]] = {
    "map": lambda world, text: says(world, text),
    "secret": lambda world, text: says(world, text, SECRET),
    "image": lambda world, text: world.people.edit(KEY, template=reading(text, stamp(world))),
    "replace": lambda world, text: world.people.undo(KEY, reading(text)),
    "lose": lambda world, _: world.cluster.configs[CONFIG_MAP].remove(KEY),
    "approve": lambda world, _: approve(world),
    "rest": lambda world, _: world.rest(),
    "once": lambda world, _: world.advance(),
    "late": lambda world, _: world.restart(),
}
actions = st.lists(
    st.tuples(st.sampled_from(sorted(DEEDS)), st.sampled_from(["one", "two", "three"])), max_size=12
)


@given(actions)
def test_after_any_change_all_pods_run_the_written_content_and_the_content_is_kept(
    done: list[UserAction],
) -> None:
    world = tracking(watched=False, replicas=4, traffic=False)
    for name, text in done:
        DEEDS[name](world, text)
    world.rest()
    if content(world) == "gone":
        says(world, "one")
    for _ in range(3):
        world.rest()
        finish(world)
    assert status_of(world).phase == Phase.HEALTHY
    assert running(world) == {stamp(world): 4}
    seen = world.observe(KEY)
    assert seen is not None
    assert isinstance(seen.config, ConfigWatched)
    known = record(world)
    assert known.stable is not None
    assert known.update is None
    assert agrees(known.stable, seen.config)
    assert copies(world) == [content(world)]
    assert copies(world, SECRET) == [content(world, SECRET)]
    assert tracking_condition(world)[0] in ("Tracked", "ConfigNotRestored")
    before = world.cluster.version
    wait(world, 3600)
    assert world.cluster.version == before


@given(
    st.lists(
        st.tuples(st.sampled_from(list(ConfigKind)), st.sampled_from(["one", "two"])), max_size=6
    ),
    st.integers(0, 2),
)
def test_undoing_a_release_of_contents_alone_always_ends_where_it_began(
    changes: list[tuple[ConfigKind, str]], approvals: int
) -> None:
    world = tracking(watched=False, replicas=4, traffic=False)
    for kind, text in changes:
        says(world, text, kind)
        world.rest()
    for _ in range(approvals if stamp(world) else 0):
        if status_of(world).phase == Phase.PROGRESSING:
            approve(world)
    if status_of(world).phase == Phase.PROGRESSING:
        world.people.undo(KEY, reading())
        world.rest()
        assert (content(world), content(world, SECRET)) == ("one", "one")
        assert running(world) == {"": 4}
    assert status_of(world).phase == Phase.HEALTHY
