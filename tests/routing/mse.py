"""MSE Ingress of Alibaba Cloud: of a path's canary Ingress the header or parameter decides, then cookie, then weight.

"Advanced usage of MSE Ingress" (440053): with several ways at once the order is header or parameter, cookie, weight; a
value has to be the configured one, a cookie's is always. Paths as in Higress, which it is built on; so do expressions
fit the whole value.
"""

from collections.abc import Sequence
from fractions import Fraction

from tests.routing.ingress import annotations_of, own_host, places
from tests.routing.model import Request, Shares, Tree, whole

NGINX, MSE = "nginx.ingress.kubernetes.io/", "mse.ingress.kubernetes.io/"


def ingresses(objects: Sequence[Tree], request: Request) -> Shares:
    """The longest path, divided with the canary Ingress of the same host and path."""
    found = own_host([place for place in places(objects) if place.fits(request)], request)
    plain = [place for place in found if "canary" not in annotations_of(place.ingress, NGINX)]
    if not plain:
        return {}
    stable = max(plain, key=lambda place: place.by_path)
    shares = {stable.service: Fraction(1)}
    for place in found:
        if place not in plain and (place.path, place.exact) == (stable.path, stable.exact):
            part = _share(place.ingress, request)
            shares = {stable.service: 1 - part, place.service: part}
    return {name: part for name, part in shares.items() if part}


def _share(ingress: Tree, request: Request) -> Fraction:
    nginx, mse = annotations_of(ingress, NGINX), annotations_of(ingress, MSE)
    assert nginx["canary"] == "true"
    for given, what, values in ((nginx, "header", request.headers), (mse, "query", request.query)):
        name = given.get(f"canary-by-{what}")
        if name is not None:
            value = values.get(name.lower() if what == "header" else name)
            if f"canary-by-{what}-pattern" in given:
                if whole(given[f"canary-by-{what}-pattern"], value):
                    return Fraction(1)
            elif value == given.get(f"canary-by-{what}-value", "always"):
                return Fraction(1)
    if "canary-by-cookie" in nginx and request.cookies.get(nginx["canary-by-cookie"]) == "always":
        return Fraction(1)
    return Fraction(int(nginx.get("canary-weight", "0")), 100)
