"""All access to Kubernetes: transport, caches, and the parts that use them. Nothing else imports kr8s."""
