"""Grafana dashboards, described in a few lines each: `python -m tests.monitoring.dashboards` writes the JSON.

Invariant: a panel is a title, a unit and queries; where it stands follows from its order, four to a row of 24 columns
(wide ones two). Every query names only metrics of docs/metrics.md, and answers something also if nothing is wrong.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parents[2] / "deploy" / "monitoring" / "grafana"
RATE = "$__rate_interval"
"""The variable that Grafana replaces by the window of a rate."""
Json = dict[str, Any]


class Query(NamedTuple):
    """PromQL, and how its series are called."""

    text: str
    legend: str = ""


class Panel(NamedTuple):
    """One picture."""

    title: str
    queries: tuple[Query, ...]
    unit: str = "short"
    kind: str = "timeseries"
    width: int = 12


class Dashboard(NamedTuple):
    """One page; `variables` are names and the queries of their values."""

    name: str
    title: str
    panels: tuple[Panel, ...]
    variables: tuple[tuple[str, str], ...] = ()


def number(title: str, query: str, unit: str = "short") -> Panel:
    """A single number."""
    return Panel(title, (Query(query),), unit, "stat", 6)


def lines(title: str, *queries: Query, unit: str = "short") -> Panel:
    """Series over time."""
    return Panel(title, queries, unit)


def quantiles(title: str, metric: str, by: str = "") -> Panel:
    """How long most of something takes: the median and the 99th of 100."""
    group = f"le, {by}" if by else "le"
    legend = f"{{{{{by}}}}} " if by else ""
    return Panel(
        title,
        tuple(
            Query(
                f"histogram_quantile({share}, sum by ({group}) (rate({metric}_bucket[{RATE}])))",
                f"{legend}p{share[2:].ljust(2, '0')}",
            )
            for share in ("0.5", "0.99")
        ),
        "s",
    )


ONE = 'namespace="$namespace",rollout="$rollout"'

OVERVIEW = Dashboard(
    "overview",
    "Moonshift: releases",
    (
        number("Rollouts", "count(max by (namespace, rollout) (moonshift_rollout_info))"),
        number(
            "Under way",
            'sum(max by (namespace, rollout) (moonshift_rollout_phase{phase="Progressing"})) or vector(0)',
        ),
        number(
            "Waiting for a person",
            'sum(max by (namespace, rollout) (moonshift_rollout_paused{by="person"})) or vector(0)',
        ),
        number(
            "Stalled", "sum(max by (namespace, rollout) (moonshift_rollout_stalled)) or vector(0)"
        ),
        lines(
            "Rollouts by phase",
            Query("sum by (phase) (moonshift_rollout_phase)", "{{phase}}"),
        ),
        lines(
            "Releases that ended, an hour",
            Query(
                "sum by (outcome) (increase(moonshift_rollouts_completed_total[1h])) or vector(0)",
                "{{outcome}}",
            ),
        ),
        lines(
            "Share of requests that new revisions get",
            Query(
                "max by (namespace, rollout) (moonshift_rollout_weight_actual)",
                "{{namespace}}/{{rollout}}",
            ),
            unit="percent",
        ),
        lines(
            "Time in the present state",
            Query(
                "max by (namespace, rollout, state) (moonshift_rollout_state_seconds)",
                "{{namespace}}/{{rollout}} {{state}}",
            ),
            unit="s",
        ),
        lines(
            "Stalled, by who has to do something",
            Query("sum by (class) (moonshift_rollout_stalled) or vector(0)", "{{class}}"),
        ),
        lines(
            "Gates that failed or cannot tell",
            Query(
                'sum by (verdict) (moonshift_rollout_gate{verdict=~"Failed|Inconclusive"}) or vector(0)',
                "{{verdict}}",
            ),
        ),
    ),
)

ROLLOUT = Dashboard(
    "rollout",
    "Moonshift: one Rollout",
    (
        number("Step", f"max(moonshift_rollout_step{{{ONE}}})"),
        number("Steps of the plan", f"max(moonshift_rollout_steps{{{ONE}}})"),
        number(
            "In this state for", f"max(moonshift_rollout_state_seconds{{{ONE}}}) or vector(0)", "s"
        ),
        number("Stalled", f"max(moonshift_rollout_stalled{{{ONE}}}) or vector(0)"),
        lines(
            "Share of requests",
            Query(f"max(moonshift_rollout_weight_desired{{{ONE}}}) or vector(0)", "asked for"),
            Query(f"max(moonshift_rollout_weight_actual{{{ONE}}}) or vector(0)", "led there"),
            unit="percent",
        ),
        lines(
            "Pods by revision",
            Query(f"max by (side) (moonshift_rollout_pods{{{ONE}}})", "{{side}}"),
        ),
        lines(
            "Ready pods by revision",
            Query(f"max by (side) (moonshift_rollout_ready_pods{{{ONE}}})", "{{side}}"),
        ),
        lines("Step", Query(f"max(moonshift_rollout_step{{{ONE}}})", "step")),
        lines(
            "Waits",
            Query(f"max by (by) (moonshift_rollout_paused{{{ONE}}}) or vector(0)", "{{by}}"),
        ),
        lines(
            "Gates",
            Query(
                f"max by (gate, verdict) (moonshift_rollout_gate{{{ONE}}}) or vector(0)",
                "{{gate}} {{verdict}}",
            ),
        ),
    ),
    (
        ("namespace", "label_values(moonshift_rollout_info, namespace)"),
        ("rollout", 'label_values(moonshift_rollout_info{namespace="$namespace"}, rollout)'),
    ),
)

CONTROLLER = Dashboard(
    "controller",
    "Moonshift: controller",
    (
        number(
            "Leaders", "count(sum by (instance) (leader_election_master_status) > 0) or vector(0)"
        ),
        number(
            "Certificate ends in",
            "min(moonshift_certificate_expiration_timestamp_seconds) - time()",
            "s",
        ),
        number("Caches that are not complete", "count(moonshift_cache_synced == 0) or vector(0)"),
        number("Rollouts in the queue", 'sum(workqueue_depth{name="rollout"})'),
        lines(
            "Passes, a second",
            Query(
                f"sum by (controller, result) (rate(controller_runtime_reconcile_total[{RATE}]))",
                "{{controller}} {{result}}",
            ),
        ),
        quantiles("Duration of a pass", "controller_runtime_reconcile_time_seconds", "controller"),
        quantiles("Time in the queue", "workqueue_queue_duration_seconds", "name"),
        lines(
            "Requests to the API server, a second",
            Query(
                f"sum by (method, code) (rate(rest_client_requests_total[{RATE}]))",
                "{{method}} {{code}}",
            ),
        ),
        quantiles("Duration of a request", "rest_client_request_duration_seconds", "verb"),
        lines(
            "Admission, a second",
            Query(
                f"sum by (webhook, allowed) (rate(moonshift_admission_total[{RATE}]))",
                "{{webhook}} allowed={{allowed}}",
            ),
        ),
        quantiles("Duration of an admission answer", "moonshift_admission_seconds"),
        lines(
            "Objects in memory",
            Query("max by (resource) (moonshift_cached_objects)", "{{resource}}"),
        ),
        lines(
            "Script calls, a second",
            Query(f"sum by (code) (rate(moonshift_script_calls_total[{RATE}]))", "{{code}}"),
        ),
        quantiles("Duration of a script call", "moonshift_script_seconds"),
        lines(
            "Memory",
            Query("max by (instance) (process_resident_memory_bytes)", "{{instance}}"),
            unit="bytes",
        ),
        lines(
            "CPU",
            Query(f"max by (instance) (rate(process_cpu_seconds_total[{RATE}]))", "{{instance}}"),
        ),
    ),
)

WORKER = Dashboard(
    "worker",
    "Moonshift: script worker",
    (
        number("Children that wait for a call", "sum(lua_pool_ready)"),
        number("Calls that run", "sum(lua_pool_running)"),
        number("Calls that wait", "sum(lua_pool_waiting)"),
        number("Scripts that are not run for a while", "sum(lua_circuits_open)"),
        lines(
            "Calls, a second", Query(f"sum by (code) (rate(lua_exec_total[{RATE}]))", "{{code}}")
        ),
        quantiles("Duration of a call", "lua_exec_seconds", "phase"),
        lines(
            "Children that were killed, an hour",
            Query(
                "sum by (reason) (increase(lua_child_kills_total[1h])) or vector(0)", "{{reason}}"
            ),
        ),
        lines(
            "Troubles, an hour",
            Query(
                "sum by (trouble) (increase(lua_exec_troubles_total[1h])) or vector(0)",
                "{{trouble}}",
            ),
        ),
        quantiles("Time until a child is there", "lua_pool_spawn_seconds"),
        lines(
            "Locks that were proven at start",
            Query("min by (lock) (lua_sandbox_selftest)", "{{lock}}"),
        ),
    ),
)

DASHBOARDS = (OVERVIEW, ROLLOUT, CONTROLLER, WORKER)


def written(dashboard: Dashboard) -> str:
    """The JSON that Grafana imports."""
    body = {
        "title": dashboard.title,
        "uid": f"moonshift-{dashboard.name}",
        "tags": ["moonshift"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [*_variables(dashboard)]},
        "panels": [*_panels(dashboard.panels)],
    }
    return json.dumps(body, indent=1) + "\n"


SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def _variables(dashboard: Dashboard) -> Iterator[Json]:
    yield {"name": "datasource", "type": "datasource", "query": "prometheus"}
    for name, query in dashboard.variables:
        yield {"name": name, "type": "query", "datasource": SOURCE, "query": query, "refresh": 2}


def _panels(panels: tuple[Panel, ...]) -> Iterator[Json]:
    x = y = high = 0
    for number_, panel in enumerate(panels, 1):
        height = 4 if panel.kind == "stat" else 8
        if x + panel.width > 24:
            x, y, high = 0, y + high, 0
        yield {
            "id": number_,
            "title": panel.title,
            "type": panel.kind,
            "datasource": SOURCE,
            "gridPos": {"x": x, "y": y, "w": panel.width, "h": height},
            "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
            "targets": [
                {
                    "refId": chr(ord("A") + place),
                    "datasource": SOURCE,
                    "expr": query.text,
                    "legendFormat": query.legend or "__auto",
                }
                for place, query in enumerate(panel.queries)
            ],
        }
        x, high = x + panel.width, max(high, height)


def main() -> None:
    """Write the files."""
    FOLDER.mkdir(exist_ok=True)
    for dashboard in DASHBOARDS:
        (FOLDER / f"{dashboard.name}.json").write_text(written(dashboard))


if __name__ == "__main__":
    main()
