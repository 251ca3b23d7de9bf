"""Which shard a namespace belongs to, where several processes divide the work.

Invariant: a pure function of the namespace and the number of shards, the same in every process and every version of
Python; one shard more takes namespaces over, and moves none between the others (rendezvous hashing). It must not know
who holds a shard.
"""

from hashlib import blake2b

MOST = 16
"""Shards at most: the Role names each of their Leases."""


def shard_of(namespace: str, shards: int) -> int:
    """The one shard, of those from 0 to `shards` - 1, that a namespace belongs to."""
    return max(range(shards), key=lambda shard: weight(namespace, shard))


def weight(name: str, shard: int) -> bytes:
    """The larger, the more a shard is this name's."""
    return blake2b(name.encode(), digest_size=8, key=b"moonshift-shard-%d" % shard).digest()
