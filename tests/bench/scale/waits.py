"""The three waits of an approval: the API server's answer, the controller's queue, and the pass itself.

Invariant: times are from the API server's log, and the time in the queue is from the controller's own histogram. It
must not judge.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

from tests.bench.figures import p50, p99
from tests.bench.ground import USER, Ground
from tests.bench.scale.watched import WatchedProduct
from tests.bench.timeline import APPROVER

WAITED = "workqueue_queue_duration_seconds"
URGENT = "rollout-urgent"


@dataclass(frozen=True, slots=True)
class Approval:
    """Seconds after the API server has received the approval."""

    answered: float
    """To the whole answer of the API server."""
    written: float
    """To our first write about the same application, as the API server got it."""


def approvals(ground: Ground, cursor: int, namespace: str) -> Iterator[Approval]:
    """Each approval in a namespace after which the controller wrote."""
    records = ground.plane.audit.since(
        cursor, where=lambda r: r.namespace == namespace and r.is_write and r.code < 300
    )
    waiting: dict[str, tuple[float, float]] = {}
    for record in sorted(records, key=lambda r: r.received_at):
        received = record.received_at.timestamp()
        if record.user == APPROVER:
            waiting[record.name] = received, record.at.timestamp() - received
        elif record.user == USER:
            name = next((name for name in waiting if record.name.startswith(name)), None)
            if name is not None:
                approved, answered = waiting.pop(name)
                yield Approval(answered, received - approved)


async def in_line(ground: Ground) -> dict[float, float]:
    """The number of urgent turns so far that waited for a worker for at most the given number of seconds."""
    assert isinstance(ground.product, WatchedProduct)
    page = await ground.product.page()
    return {
        float(sample.labels["le"]): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
        if sample.name == f"{WAITED}_bucket" and sample.labels["name"] == URGENT
    }


def delays_in_words(
    waited: Sequence[Approval], before: dict[float, float], after: dict[float, float]
) -> str:
    """The parts of the wait, in words."""
    answers = [one.answered for one in waited]
    ours = [max(0.0, one.written - one.answered) for one in waited]
    return (
        f"the API server took {p50(answers):.2f} s, p99 {p99(answers):.2f} s to answer the approval itself; "
        f"from its answer to the write {p50(ours):.2f} s, p99 {p99(ours):.2f} s, "
        f"of which in the queue {_bound(before, after, 0.5)}, p99 {_bound(before, after, 0.99)}"
    )


def _bound(before: dict[float, float], after: dict[float, float], share: float) -> str:
    """The histogram's smallest limit that this share of the turns did not exceed."""
    turns = {limit: count - before.get(limit, 0.0) for limit, count in after.items()}
    every = max(turns.values(), default=0.0)
    limit = min((limit for limit, count in turns.items() if count >= share * every), default=0.0)
    return f"<= {1000 * limit:g} ms"
