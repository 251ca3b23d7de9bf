"""Real HTTP traffic on a local cluster: a private network, pods that answer, a gateway, a client that counts.

Development only; nothing in the product imports it, and it knows nothing of the product.
"""
