"""The one Metrics class serves every part that reports metrics; mypy checks signatures, this test that they exist."""

import inspect

import pytest

from controller.kube.events import EventMetrics
from controller.kube.lease import KubeLeaseStore
from controller.kube.reflector import ReflectorMetrics
from controller.kube.sending import RequestMetrics
from controller.runtime.leader import LeaderMetrics, LeaseStore
from controller.runtime.worker import ReconcileMetrics
from controller.runtime.workqueue import QueueMetrics
from controller.telemetry.metrics import Metrics


def all_of_them(
    metrics: Metrics, store: KubeLeaseStore
) -> tuple[
    QueueMetrics,
    ReconcileMetrics,
    LeaderMetrics,
    RequestMetrics,
    ReflectorMetrics,
    EventMetrics,
    LeaseStore,
]:
    """Compiles only while Metrics and KubeLeaseStore have the right shapes."""
    return metrics, metrics, metrics, metrics, metrics, metrics, store


@pytest.mark.parametrize(
    "protocol",
    [QueueMetrics, ReconcileMetrics, LeaderMetrics, RequestMetrics, ReflectorMetrics, EventMetrics],
)
def test_metrics_offers_every_method_with_the_same_parameters(protocol: type) -> None:
    for name, method in vars(protocol).items():
        if inspect.isfunction(method) and not name.startswith("_"):
            ours = inspect.signature(getattr(Metrics, name)).parameters
            assert list(ours) == list(inspect.signature(method).parameters)
