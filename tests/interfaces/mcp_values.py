"""Arguments as a confused client might send them."""

from typing import Any

from hypothesis import strategies as st

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)


def near_the_schema(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values of the right kind, mostly; so that tests come past the first check."""
    match schema["type"]:
        case "integer":
            return st.integers(schema["minimum"] - 2, schema["maximum"] + 2) | st.floats(0, 9) | JSON
        case "string" if "enum" in schema:
            return st.sampled_from(schema["enum"]) | JSON
        case "string":
            return st.text(max_size=20) | JSON
        case "array":
            return st.lists(near_the_schema(schema["items"]), max_size=3) | JSON
    if "properties" not in schema:
        return st.dictionaries(st.text(max_size=5), JSON, max_size=3) | JSON
    return arguments_for(schema) | JSON


def arguments_for(schema: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    optional = {name: near_the_schema(part) for name, part in schema["properties"].items()}
    return st.fixed_dictionaries({}, optional=optional)
