"""The page of figures agrees with the record at scale, and its pictures are drawn from the record."""

import pytest

from tests.bench.scale.curves import PICTURES, Picture, points
from tests.bench.scale.record import RECORD, read
from tests.bench.scale.section import PAGE, section


def test_the_page_has_the_figures_of_the_record() -> None:
    assert section().strip() in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_every_curve_of_a_picture_has_points_of_the_record(picture: Picture) -> None:
    measured = read()[picture.scenario]
    curves = [curve for panel in picture.panels for curve in panel.curves]
    found = {curve.name + curve.note: len(points(curve, measured)) for curve in curves}
    assert min(found.values()) > 1, found


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_every_picture_is_drawn(picture: Picture) -> None:
    assert RECORD.with_name(f"{picture.name}.png").exists()
