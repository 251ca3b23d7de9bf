from tests.unit.documents.shape import takers_of_both
from tests.unit.documents.stats import long_functions, terms

MOST_TERMS = 40


def test_no_function_of_the_product_is_longer_than_a_page() -> None:
    assert long_functions() == []


def test_no_decision_takes_a_release_and_a_status_apart() -> None:
    assert takers_of_both() == []


def test_the_glossary_has_at_most_forty_terms() -> None:
    assert 0 < terms() <= MOST_TERMS
