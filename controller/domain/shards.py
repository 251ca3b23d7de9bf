"""The shard of a namespace, when several processes divide the work.

Invariant: a pure function of the namespace and the number of shards, the same in every process and every version of
Python; one more shard takes namespaces from the others, and moves none between them (rendezvous hashing). It must not
know the holders of shards.
"""

from hashlib import blake2b

MOST = 16
"""Shards at most: the Role names each of their Leases."""
_COMMON = "shards-"


def shard_of(namespace: str, shards: int) -> int:
    """The shard of a namespace, from 0 to `shards` - 1."""
    return max(range(shards), key=lambda shard: weight(namespace, shard))


def weight(name: str, shard: int) -> bytes:
    """The larger, the more a shard is this name's."""
    return blake2b(name.encode(), digest_size=8, key=b"moonshift-shard-%d" % shard).digest()


def common_holder(shards: int) -> str:
    """The holder's name in the Lease that all processes with this number of shards share."""
    return f"{_COMMON}{shards}"


def shards_counted(holder: str) -> int:
    """The number of shards, read from the holder of the leader's Lease; 1 if the holder is a single process."""
    counts = (count for count in range(1, MOST + 1) if common_holder(count) == holder)
    return next(counts, 1)
