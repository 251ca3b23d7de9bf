"""The dashboards agree with their description, and use only existing metrics and labels."""

import json
import re

import pytest

from tests.monitoring.dashboards import DASHBOARDS, FOLDER, Dashboard, written
from tests.unit.telemetry.catalogue import Entry, of_controller, of_state, of_worker

NAME = re.compile(
    r"\b(?:moonshift|lua|process|workqueue|rest_client|controller_runtime|leader)_\w+"
)
LABELS = re.compile(r"(?:by \(|label_values\([^,]+, )([^)]*)\)")
OF_SCRAPES = {"instance", "le"}


def known() -> dict[str, Entry]:
    """Every name that a query may use."""
    found: dict[str, Entry] = {}
    for one in (*of_controller(), *of_worker(), *of_state()):
        names = (one.sample, f"{one.name}_bucket") if one.kind == "histogram" else (one.sample,)
        found |= dict.fromkeys(names, one)
    return found


def queries(dashboard: Dashboard) -> list[str]:
    of_panels = [query.text for panel in dashboard.panels for query in panel.queries]
    return of_panels + [query for _, query in dashboard.variables]


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda dashboard: dashboard.name)
def test_the_file_agrees_with_the_description(dashboard: Dashboard) -> None:
    text = (FOLDER / f"{dashboard.name}.json").read_text()
    assert text == written(dashboard), "run `make generate`"
    places = [panel["gridPos"] for panel in json.loads(text)["panels"]]
    assert all(place["x"] + place["w"] <= 24 for place in places)
    corners = {(place["x"], place["y"]) for place in places}
    assert len(corners) == len(places)


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda dashboard: dashboard.name)
def test_every_query_names_metrics_and_labels_that_there_are(dashboard: Dashboard) -> None:
    metrics = known()
    for query in queries(dashboard):
        names = NAME.findall(query)
        assert names, query
        labels = {label for name in names for label in metrics[name].labels} | OF_SCRAPES
        asked = {word.strip() for group in LABELS.findall(query) for word in group.split(",")}
        matched = set(re.findall(r'(\w+)=~?"', query))
        assert asked | matched <= labels, query


def test_dashboards_and_panels_have_names_of_their_own() -> None:
    assert len({dashboard.name for dashboard in DASHBOARDS}) == len(DASHBOARDS)
    for dashboard in DASHBOARDS:
        found = [(panel.title, panel.kind) for panel in dashboard.panels]
        assert len(set(found)) == len(found)
