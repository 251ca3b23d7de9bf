"""`/convert`: Rollouts from one version to the other.

Invariant: needs nothing but the request, so it answers from the first moment on; the caches are filled through it. One
object is decoded at a time.
"""

import msgspec

from controller.api.conversion import Unconvertible, converted
from controller.webhook.review import ConversionReview, conversion_response
from controller.webhook.trees import TooManyValues, convertible


def convert(review: ConversionReview) -> bytes:
    """The answer to a conversion request."""
    results: list[msgspec.Raw] = []
    for raw in review.request.objects:
        try:
            result = converted(convertible(raw), review.request.desired_api_version)
        except TooManyValues as refusal:
            return conversion_response(review, (), str(refusal))
        if isinstance(result, Unconvertible):
            return conversion_response(review, (), result.message)
        results.append(msgspec.Raw(msgspec.json.encode(result)))
    return conversion_response(review, tuple(results), "")
