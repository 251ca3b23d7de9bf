"""The product installed in a cluster with a real node: its images, its manifests, a release of real pods."""
