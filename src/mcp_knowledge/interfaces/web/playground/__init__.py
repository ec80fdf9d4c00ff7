"""The search playground."""
