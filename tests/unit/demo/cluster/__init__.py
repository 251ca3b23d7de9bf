"""Images and the install, as far as no node is needed."""
