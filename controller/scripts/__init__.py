"""Scripts: which one serves a reference (`lookup`), and what it says about an object (`client`, through the worker)."""
