"""All access to Kubernetes: kr8s' Api over our own transport, caches, and the parts that use them."""
