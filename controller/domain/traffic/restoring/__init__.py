"""Takes our part out of objects that others changed, too, in the order that loses no request."""
