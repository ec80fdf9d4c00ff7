"""The steps of the Dockerfile carried out, and their result tried, where no container engine can run."""
