"""Quantities have the fields that Kubernetes' own parser gives them."""

import pytest

from controller.api.original.go_quantity import GoQuantity, go_quantity


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("0", GoQuantity(0, 0, "0", "DecimalSI")),
        ("100m", GoQuantity(100, -3, "100m", "DecimalSI")),
        ("1000m", GoQuantity(1000, -3, "", "DecimalSI")),
        ("0.5", GoQuantity(5, -1, "", "DecimalSI")),
        ("1.500", GoQuantity(1500, -3, "1.500", "DecimalSI")),
        ("-3k", GoQuantity(-3, 3, "-3k", "DecimalSI")),
        ("12e6", GoQuantity(12, 6, "12e6", "DecimalExponent")),
        ("1Gi", GoQuantity(1 << 30, 0, "1Gi", "BinarySI")),
        ("200Mi", GoQuantity(200 << 20, 0, "", "BinarySI")),
    ],
)
def test_number_scale_text_and_format_are_kept(written: str, found: GoQuantity) -> None:
    assert go_quantity(written) == found


@pytest.mark.parametrize("written", ["", "m", ".", "1.5Gi", "9Ei", "1x", "0.0000000001", "1" * 19])
def test_malformed_and_very_large_quantities_have_no_value(
    written: str,
) -> None:
    assert go_quantity(written) is None
