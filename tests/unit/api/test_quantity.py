"""Percentages are read as Kubernetes reads them: digits and a sign, nothing else."""

import pytest

from controller.api.quantity import parse_percent, parse_share


@pytest.mark.parametrize("text", ["20%\n", " 20%", "٢٠%", "-20%", "20", "2 0%", "9" * 5000 + "%"])
def test_a_text_that_kubernetes_would_refuse_is_no_percentage(text: str) -> None:
    assert parse_percent(text) is None
    assert parse_share(text) is None


def test_a_percentage_is_read() -> None:
    assert (parse_percent("20%"), parse_share("0.5%")) == (20, 0.5)
