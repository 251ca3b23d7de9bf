"""The page of figures agrees with the record at scale, and its pictures are drawn from the record."""

import pytest

from tests.bench.scale.curves import PICTURES, Picture, points
from tests.bench.scale.record import RECORD, read
from tests.bench.scale.section import section
from tests.bench.sections import PAGE, replaced
from tests.bench_lua.section import section as section_of_the_worker


def test_the_page_has_the_figures_of_the_records() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert section().strip() in page
    assert section_of_the_worker().strip() in page


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("# Page\n\n## One\n\nold\n\n## Two\n\nkept\n", "# Page\n\n## One\n\nnew\n\n## Two\n\nkept\n"),
        ("# Page\n\n## Two\n\nkept\n\n## One\n\nold\n", "# Page\n\n## Two\n\nkept\n\n## One\n\nnew\n"),
        ("# Page\n\n## Two\n\nkept\n", "# Page\n\n## Two\n\nkept\n\n## One\n\nnew\n"),
    ],
    ids=["in the middle", "at the end", "not there"],
)  # fmt: skip
def test_a_section_is_written_in_its_place_and_the_others_keep_their_text(
    page: str, expected: str
) -> None:
    assert replaced(page, "## One", "## One\n\nnew\n") == expected


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_every_curve_of_a_picture_has_points_of_the_record(picture: Picture) -> None:
    measured = read()[picture.scenario]
    curves = [curve for panel in picture.panels for curve in panel.curves]
    found = {curve.name + curve.note: len(points(curve, measured)) for curve in curves}
    assert min(found.values()) > 1, found


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_every_picture_is_drawn(picture: Picture) -> None:
    assert RECORD.with_name(f"{picture.name}.png").exists()
