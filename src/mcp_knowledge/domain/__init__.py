"""Pure rules of the product: no I/O, standard library (and the `regex` package) only."""
