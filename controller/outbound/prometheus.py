"""Queries of the Prometheus HTTP API, which Thanos, Mimir, Cortex and VictoriaMetrics serve as well.

Invariant: one query, one number. An empty answer is no data (None); more than one series is the author's
mistake and is reported. Of a refused query only Prometheus' own message about the query is shown.
"""

import math
from datetime import UTC, datetime, timedelta

import msgspec

from controller.api.analysis import PrometheusQuery
from controller.api.decoding import decoded
from controller.outbound.fetching import Failed, Fetching, Request, Status

MAX_CHARACTERS = 200
MAX_POINTS = 10_000
"""Of one answer; a Prometheus refuses more than 11 000."""


class _Data(msgspec.Struct, frozen=True, rename="camel"):
    result_type: str = ""
    result: msgspec.Raw = msgspec.Raw(b"[]")


class _Answer(msgspec.Struct, frozen=True, rename="camel"):
    status: str = ""
    data: _Data = _Data()
    error_type: str = ""
    error: str = ""


class _Series(msgspec.Struct, frozen=True):
    value: tuple[float, str] | None = None
    histogram: msgspec.Raw = msgspec.Raw(b"")


class _Range(msgspec.Struct, frozen=True):
    values: tuple[tuple[float, str], ...] = ()
    histograms: msgspec.Raw = msgspec.Raw(b"")


async def ask(
    fetching: Fetching, namespace: str, asked: PrometheusQuery, query: str, default: str
) -> float | None:
    """The number that a query answers now, None for no data. Raises `Failed`."""
    form = (("query", query), ("timeout", f"{asked.timeout_seconds}s"))
    return number(await _answered(fetching, namespace, asked, default, "query", form))


async def ask_range(
    fetching: Fetching,
    namespace: str,
    asked: PrometheusQuery,
    query: str,
    default: str,
    span: tuple[datetime, datetime],
    step: timedelta,
) -> tuple[tuple[datetime, float], ...]:
    """The numbers that a query answered at each step from the first to the second of `span`. Raises `Failed`."""
    found: list[tuple[datetime, float]] = []
    since, until = span
    while since <= until:
        last = min(until, since + (MAX_POINTS - 1) * step)
        form = (
            ("query", query),
            ("start", f"{since.timestamp():.3f}"),
            ("end", f"{last.timestamp():.3f}"),
            ("step", f"{step.total_seconds():g}"),
            ("timeout", f"{asked.timeout_seconds}s"),
        )
        found += numbers(await _answered(fetching, namespace, asked, default, "query_range", form))
        since = last + step
    return tuple(found)


async def _answered(
    fetching: Fetching,
    namespace: str,
    asked: PrometheusQuery,
    default: str,
    what: str,
    form: tuple[tuple[str, str], ...],
) -> bytes:
    address = (asked.address or default).rstrip("/")
    if not address:
        raise Failed("no address: name one, or have the controller started with --prometheus")
    if "?" in address or "#" in address:
        raise Failed(
            "the address of a Prometheus ends before a ? and a #: name host, port and path only"
        )
    request = Request(
        namespace,
        f"{address}/api/v1/{what}",
        form=form,
        headers=asked.headers,
        auth=asked.auth,
        timeout_seconds=asked.timeout_seconds,
        only_asks=True,
    )
    try:
        return await fetching.fetch(request)
    except Status as refused:
        raise Failed(_why(refused)) from refused


def _why(refused: Status) -> str:
    """The error text of a Prometheus that cannot run a query; the text of any other server is not repeated."""
    try:
        answer = decoded(refused.body, _Answer)
    except msgspec.DecodeError:
        return str(refused)
    if answer.status != "error" or answer.error_type not in ("bad_data", "execution", "timeout"):
        return str(refused)
    return f"Prometheus refused the query ({answer.error_type}): {answer.error[:MAX_CHARACTERS]}"


def number(body: bytes) -> float | None:
    """The number in an answer of `/api/v1/query`. Raises `Failed`."""
    try:
        data = decoded(body, _Answer).data
        if data.result_type == "scalar":
            return _value(decoded(data.result, tuple[float, str])[1])
        if data.result_type == "vector":
            series = decoded(data.result, list[_Series])
            _one_at_most(len(series))
            return _of_series(series[0]) if series else None
    except (msgspec.DecodeError, ValueError) as error:
        raise Failed("the address answered, but not as a Prometheus does") from error
    raise Failed(f"the query answered a {data.result_type or 'nothing'}: ask for one number")


def numbers(body: bytes) -> tuple[tuple[datetime, float], ...]:
    """The numbers in an answer of `/api/v1/query_range`. Raises `Failed`."""
    try:
        data = decoded(body, _Answer).data
        series = decoded(data.result, list[_Range])
        _one_at_most(len(series))
        _no_histogram(any(one.histograms for one in series))
        values = series[0].values if series else ()
        return tuple((datetime.fromtimestamp(at, UTC), _value(text)) for at, text in values)
    except (msgspec.DecodeError, ValueError, OverflowError, OSError) as error:
        raise Failed("the address answered, but not as a Prometheus does") from error


def _of_series(series: _Series) -> float:
    _no_histogram(bool(series.histogram))
    if series.value is None:
        raise ValueError("a series without a value")
    return _value(series.value[1])


def _no_histogram(found: bool) -> None:
    if found:
        raise Failed(
            "the query answers a native histogram: ask for one number of it, for example with histogram_quantile()"
        )


def _one_at_most(series: int) -> None:
    if series > 1:
        raise Failed(
            f"the query answered {series} series: aggregate them to one, for example with sum()"
        )


def _value(text: str) -> float:
    return {"+Inf": math.inf, "-Inf": -math.inf}.get(text) or float(text)
