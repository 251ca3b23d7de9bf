"""An in-memory cluster that obeys actions: what `simulate` and the property tests stand on."""
