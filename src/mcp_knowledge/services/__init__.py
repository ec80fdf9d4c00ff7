"""Use cases. Ports come in through the constructor; no SQL, no HTTP."""
