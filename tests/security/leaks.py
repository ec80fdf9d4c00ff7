"""What no answer may show: paths, SQL, tracebacks, names of what the server is made of."""

import re

LEAKS = re.compile(
    rb"Traceback|site-packages|mcp_knowledge[./]|\.py\b|pydantic|starlette|sqlite|apsw|psycopg|\bSELECT\b|\bINSERT INTO"
    rb"|\bUPDATE \w+ SET\b|\w+Error\b(?!\")|<\w+ object at|0x[0-9a-f]{8,}|[Ee]xpecting value|codec can't"
)
