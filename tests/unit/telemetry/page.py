"""A page of metrics as samples."""

from prometheus_client.parser import text_string_to_metric_families

from controller.telemetry.metrics import Metrics

Labels = tuple[tuple[str, str], ...]


def samples(metrics: Metrics) -> dict[tuple[str, Labels], float]:
    """Every sample, by name and sorted labels."""
    metrics.look()
    families = text_string_to_metric_families(metrics.render().body.decode())
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }
