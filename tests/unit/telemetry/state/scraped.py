"""The metrics of a simulated world, as a scrape of its leader would read them."""

from controller.telemetry.metrics import Metrics
from controller.telemetry.state.collector import Seen
from tests.unit.telemetry.page import samples
from tests.unit.worlds import World


def seen_in(world: World) -> Seen:
    """The objects that the leader's caches would hold."""
    cluster = world.cluster
    return Seen(
        cluster.now,
        tuple(cluster.rollouts),
        tuple(cluster.traffic_routings),
        tuple(cluster.deployments),
        tuple(cluster.replica_sets),
        tuple(cluster.pods),
    )


def gauges_of(world: World) -> dict[str, float]:
    """Gauges of Rollouts and TrafficRoutings: `name{own labels}` without the object's namespace and name."""
    metrics = Metrics()
    metrics.state.lead(lambda: seen_in(world))
    found: dict[str, float] = {}
    for (name, labels), value in samples(metrics).items():
        own = ",".join(text for key, text in labels if key not in ("namespace", "rollout"))
        if name.startswith("moonshift_rollout_"):
            found[f"{name.removeprefix('moonshift_rollout_')}{{{own}}}"] = value
    return found
