"""A measurement by a script that asks: what the script is given, and what its answer is for a gate.

Invariant: a verdict is never the script's: it gives a value or none, and the rules of the metric judge it. The
request in a status has no value of a Secret and no query.
"""

import hashlib
from datetime import datetime, timedelta

from controller.api.analysis import Metric, SourceQuery
from controller.api.duration import parse_duration
from controller.api.meta import Key
from controller.domain.decision import Measure
from controller.domain.exchange.answer import Does, SourceValue
from controller.domain.exchange.release import about_release
from controller.domain.exchange.turn_input import Question
from controller.domain.gates.in_source import parameters
from controller.domain.gates.measurement import Measurement
from controller.domain.gates.templates import own_script
from controller.outbound.exchanging import Call, Exchanging, Outcome
from controller.outbound.script_runs import Wanted

NO_VALUE = "the script found no value"
CHARACTERS_OF_AN_ID = 32


def call_of(key: Key, asked: Measure, now: int, metric: Metric, side: str) -> Call:
    """One side of a measurement; `side` is canary or stable."""
    query = metric.source or SourceQuery()
    window = parse_duration(metric.window) or timedelta()
    named = f"{key}/{asked.gate}/{metric.name}/{asked.number}/{side}"
    about = about_release(asked.words, side)
    return Call(
        Wanted(
            Does.SOURCE,
            query.script,
            key.namespace,
            None if query.script_ref is None else own_script(query, key.namespace),
        ),
        Question(
            parameters(query),
            hashlib.sha256(named.encode()).hexdigest()[:CHARACTERS_OF_AN_ID],
            {**about, "window": {"from": now - int(window.total_seconds()), "to": now}},
        ),
        query.secrets,
        query.timeout_seconds,
    )


async def ask(exchanging: Exchanging, call: Call) -> Outcome:
    """The script's answer. Raises `Failed`."""
    return await exchanging.called(call)


async def nothing() -> Outcome:
    """The side that is not asked."""
    return Outcome(SourceValue())


def measurement(at: datetime, asked: Measure, new: Outcome, stable: Outcome) -> Measurement:
    """Both sides as one measurement."""
    values = [one.ended for one in (new, stable) if isinstance(one.ended, SourceValue)]
    samples = [value.samples for value in values if value.samples is not None]
    script = asked.metric.source.script if asked.metric.source is not None else ""
    return Measurement(
        at=at,
        value=values[0].value,
        stable=values[1].value,
        samples=min(samples, default=None),
        query=f"source {script}: {new.asked}" if new.asked else f"source {script}",
        missing=NO_VALUE,
    )
