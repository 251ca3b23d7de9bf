"""The text of a metric has a placeholder for a Secret's value, which is filled in only when the text is sent."""

from controller.api.analysis import SecretKey
from controller.domain.gates.secret_places import place_of, secrets_of, with_values

TOKEN, TENANT = SecretKey("prometheus", "token"), SecretKey("prometheus", "tenant.id")


def test_the_value_replaces_its_placeholder() -> None:
    text = f"up{{token='{place_of(TOKEN)}', tenant='{place_of(TENANT)}'}}"
    assert "hush" not in text
    sent = with_values(text, {TOKEN: "hush", TENANT: "7"})
    assert sent == "up{token='hush', tenant='7'}"


def test_each_secret_that_texts_need_is_named_once() -> None:
    texts = (place_of(TOKEN), f"{place_of(TENANT)}{place_of(TOKEN)}", "{{ nothing }}")
    assert secrets_of(texts) == (TOKEN, TENANT)


def test_a_value_that_looks_like_a_place_is_sent_as_it_is() -> None:
    value = place_of(TENANT)
    assert with_values(place_of(TOKEN), {TOKEN: value}) == value
