"""The names of sets and runs, with what is wrong about one in a sentence for people."""

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest.arguments import checked
from mcp_knowledge.interfaces.rest.schemas.evaluations import EvaluationSetCreate

MAX_NAME_CHARS = 200


def checked_name(text: str, thing: str = "set") -> str:
    """The name that a form was filled in with for a thing. Raises INVALID_ARGUMENT."""
    name = text.strip()
    if not name:
        raise KnowledgeError("INVALID_ARGUMENT", f"A {thing} needs a name.")
    if len(name) > MAX_NAME_CHARS:
        raise KnowledgeError("INVALID_ARGUMENT", f"A name may have {MAX_NAME_CHARS} characters.")
    try:
        return checked(EvaluationSetCreate, {"name": name}).name
    except KnowledgeError:
        raise KnowledgeError("INVALID_ARGUMENT", "There are characters in the name that cannot be kept.") from None
