"""docs/metrics.md agrees with the metrics that the code serves."""

from controller.telemetry.metrics import Metrics
from controller.telemetry.state.stalls import StallClass
from tests.unit.telemetry.catalogue import DOCUMENT, of_controller, of_state, of_worker, renewed


def test_the_tables_are_those_of_the_code() -> None:
    text = DOCUMENT.read_text()
    assert renewed(text) == text, "run make generate"


def test_every_metric_is_there_once_with_its_meaning() -> None:
    ours = [*of_controller(), *of_state()]
    assert all(entry.text for entry in (*ours, *of_worker()))
    assert len({entry.name for entry in ours}) == len(ours)


def test_every_class_of_trouble_is_described() -> None:
    text = DOCUMENT.read_text()
    assert [found for found in StallClass if f"`{found}`" not in text] == []


def test_a_scraper_gets_the_format_it_asks_for() -> None:
    metrics = Metrics()
    text = metrics.render("")
    assert text.content_type.startswith("text/plain; version=0.0.4")
    page = metrics.render("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.1")
    assert page.content_type.startswith("application/openmetrics-text; version=1.0.0")
    assert page.body.endswith(b"# EOF\n")
    assert not text.body.endswith(b"# EOF\n")
