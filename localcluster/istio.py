"""istiod, and the judgement of Istio's own validation.

Why it exists: only Istio knows what a mesh does with a change, and which objects it refuses. Invariant: an object that
Istio's webhook refuses is an error in Istio's words. It must not know the product.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from localcluster.api import JsonObject
from localcluster.compile import Program
from localcluster.errors import CommandFailed
from localcluster.extras import BuiltExtra, Extra, ensure_extra
from localcluster.progress import Reporter

MODULE = "istio.io/istio"
KINDS = "manifests/charts/base/files/crd-all.gen.yaml"
ISTIO = Extra(
    "istio",
    # Without the tag, the messages of its configuration are not fit for the way in which Istio encodes them; the other
    # tag leaves out the checks of Envoy's messages, which Envoy makes itself.
    Program(Path(__file__).parent / "istio", ".", "Istio", tags="vtprotobuf,disable_pgv"),
    {MODULE: (KINDS,)},
)
