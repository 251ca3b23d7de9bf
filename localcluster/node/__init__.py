"""A real node for the local control plane: kubelet, kube-proxy, containers, cluster network and DNS.

Development only; nothing in the product imports it, and it knows nothing of the product.
"""
