"""Scripts: finding the script of a reference (`lookup`), and running it in the worker (`client`)."""
