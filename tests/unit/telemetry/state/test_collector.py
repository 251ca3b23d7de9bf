"""Only a leader exports the state: all of it on its first page, and only for existing objects."""

from controller.domain.rollout.ends.reported import End
from controller.telemetry.metrics import Metrics
from tests.unit.builders import KEY
from tests.unit.domain.rollout.scenes import started
from tests.unit.telemetry.page import samples
from tests.unit.telemetry.state.scraped import seen_in


def test_a_process_that_does_not_lead_says_nothing_of_rollouts() -> None:
    metrics = Metrics()
    assert not any(name.startswith("moonshift_rollout_") for name, _ in samples(metrics))


def test_two_leaders_say_the_same_and_the_former_nothing_any_more() -> None:
    world = started()
    first, second = Metrics(), Metrics()
    first.state.lead(lambda: seen_in(world))
    before = samples(first)
    first.state.lead(None)
    second.state.lead(lambda: seen_in(world))
    state = {key: value for key, value in before.items() if key[0].startswith("moonshift_rollout_")}
    after = samples(second)
    assert state
    assert {key: after[key] for key in state} == state
    assert not any(name.startswith("moonshift_rollout_") for name, _ in samples(first))


def test_series_go_with_their_object() -> None:
    world = started()
    metrics = Metrics()
    metrics.state.lead(lambda: seen_in(world))
    assert any(("rollout", "web") in labels for _, labels in samples(metrics))
    world.cluster.rollouts.delete(KEY)
    world.rest()
    assert not any(("rollout", "web") in labels for _, labels in samples(metrics))


def test_a_scrape_shows_the_state_at_its_own_moment() -> None:
    world = started()
    metrics = Metrics()
    metrics.state.lead(lambda: seen_in(world))
    metrics.look()
    world.cluster.rollouts.delete(KEY)
    world.rest()
    assert 'rollout="web"' in metrics.render().body.decode()


def test_the_snapshot_of_simultaneous_scrapes_is_dropped_after_the_last_one() -> None:
    world = started()
    metrics = Metrics()
    metrics.state.lead(lambda: seen_in(world))
    metrics.look()
    metrics.look()
    metrics.let_go()
    assert 'rollout="web"' in metrics.render().body.decode()
    metrics.let_go()
    assert metrics.state._seen is None


def test_the_first_release_of_a_namespace_is_an_increase() -> None:
    world = started()
    metrics = Metrics()
    metrics.state.lead(lambda: seen_in(world))
    ended = (
        "moonshift_rollouts_completed_total",
        (("namespace", KEY.namespace), ("outcome", End.SUCCEEDED)),
    )
    assert samples(metrics)[ended] == 0
    metrics.release_ended(KEY.namespace, End.SUCCEEDED, 60)
    assert samples(metrics)[ended] == 1
