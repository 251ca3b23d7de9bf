"""The only door to Kubernetes: transport, caches, and what is built on them. Nothing else imports kr8s."""
