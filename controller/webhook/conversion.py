"""`/convert`: Rollouts from one version to the other.

Invariant: needs nothing but the request, so it answers from the first moment on; the caches are filled through it.
"""

from controller.api.conversion import Unconvertible, converted
from controller.api.jsontree import JsonObject
from controller.webhook.review import ConversionReview, conversion_response


def convert(review: ConversionReview) -> bytes:
    """The answer to a conversion request."""
    results: list[JsonObject] = []
    for obj in review.request.objects:
        result = converted(obj, review.request.desired_api_version)
        if isinstance(result, Unconvertible):
            return conversion_response(review, (), result.message)
        results.append(result)
    return conversion_response(review, tuple(results), "")
