"""The doors: REST, MCP, dashboard and command line. They parse arguments and shape answers, nothing else."""
