"""Whether the rows of a database agree with each other, and mending those that follow from others."""
