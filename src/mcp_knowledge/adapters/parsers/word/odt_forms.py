"""What is filled into the form of an OpenDocument text: controls in the text name a field by its id."""

from collections.abc import Mapping

_VALUES = ("current-value", "value")
_FILLED = frozenset({"text", "textarea", "formatted-text", "number", "date", "time", "combobox"})


class FormReader:
    """Collects the fields of `office:forms`; hears the events of the whole part."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self._inside = 0
        self._list_id = ""
        self._options: list[str] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""
        if name == "forms":
            self._inside += 1
        if not self._inside:
            return
        identity = attributes.get("id", "")
        if name in _FILLED and identity:
            self._values[identity] = next((attributes[key] for key in _VALUES if attributes.get(key)), "")
        elif name in ("checkbox", "radio") and identity:
            state = attributes.get("current-state") or attributes.get("current-selected") or ""
            mark = "[x]" if state in ("checked", "true") else "[ ]"
            self._values[identity] = f"{mark} {attributes.get('label', '')}".strip()
        elif name == "listbox":
            self._list_id, self._options = identity, []
        elif name == "option" and "true" in (attributes.get("current-selected"), attributes.get("selected")):
            self._options.append(attributes.get("label", ""))

    def end(self, name: str) -> None:
        """An element ends."""
        if name == "forms":
            self._inside -= 1
        elif name == "listbox" and self._list_id:
            self._values[self._list_id] = ", ".join(filter(None, self._options))
            self._list_id = ""

    def value_of(self, control: str) -> str:
        """What the field of this id holds; empty when nothing."""
        return self._values.get(control, "")
