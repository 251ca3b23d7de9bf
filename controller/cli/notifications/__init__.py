"""`notify test`: the requests of a Notification, shown or sent from a person's own machine."""
