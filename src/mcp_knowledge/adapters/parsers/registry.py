"""The formats this release reads: one entry a format, one module a format.

A format's module has `parse(source: Source) -> NormalizedDocument`. It is imported on first need, in the parser process
only, so that this table stays cheap for everybody else. Raise `version` when a change alters a format's output.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module

from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.domain.blocks import NormalizedDocument
from mcp_knowledge.errors import KnowledgeError


@dataclass(frozen=True, slots=True)
class Format:
    """A file format. `mime_types` maps each extension (lower case, no dot) to its media type."""

    name: str
    version: str
    module: str
    mime_types: Mapping[str, str]
    binary: bool = False

    def parse(self, source: Source) -> NormalizedDocument:
        """Read a file of this format. Raises KnowledgeError with a document failure code."""
        document = import_module(self.module).parse(source)
        assert isinstance(document, NormalizedDocument)
        return document

    def mime_type(self, extension: str) -> str:
        """The media type of a file of this format; the format's first one when the extension is not its own."""
        return self.mime_types.get(extension) or next(iter(self.mime_types.values()))


class Registry:
    """Formats by name and by extension."""

    def __init__(self, formats: Iterable[Format]) -> None:
        self._by_name = {item.name: item for item in formats}
        self._by_extension = {ext: item for item in self._by_name.values() for ext in item.mime_types}

    def extensions(self) -> frozenset[str]:
        """Every extension that is read, lower case, without the dot."""
        return frozenset(self._by_extension)

    def named(self, name: str) -> Format:
        """The format of this name. Raises DOCUMENT_UNSUPPORTED_FORMAT."""
        return self._found(self._by_name.get(name))

    def for_extension(self, extension: str) -> Format:
        """The format that files of this extension should have. Raises DOCUMENT_UNSUPPORTED_FORMAT."""
        return self._found(self._by_extension.get(extension.lower().removeprefix(".")))

    @staticmethod
    def _found(item: Format | None) -> Format:
        if item is None:
            raise KnowledgeError("DOCUMENT_UNSUPPORTED_FORMAT")
        return item


_HERE = __name__.rpartition(".")[0]

REGISTRY = Registry(
    (
        Format("pdf", "2", f"{_HERE}.pdf.reader", {"pdf": "application/pdf"}, binary=True),
        Format("doc", "1", f"{_HERE}.word.doc", {"doc": "application/msword"}, binary=True),
        Format(
            "docx",
            "2",
            f"{_HERE}.word.docx",
            {
                "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
                "docm": "application/vnd.ms-word.document.macroEnabled.12",
            },
            binary=True,
        ),
        Format("odt", "1", f"{_HERE}.word.odt", {"odt": "application/vnd.oasis.opendocument.text"}, binary=True),
        Format("rtf", "1", f"{_HERE}.word.rtf", {"rtf": "application/rtf"}, binary=True),
        Format(
            "pptx",
            "1",
            f"{_HERE}.slides.pptx",
            {
                "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
                "pptm": "application/vnd.ms-powerpoint.presentation.macroEnabled.12",
                "ppsx": "application/vnd.openxmlformats-officedocument.presentationml.slideshow",
            },
            binary=True,
        ),
        Format(
            "ppt",
            "1",
            f"{_HERE}.slides.ppt",
            {"ppt": "application/vnd.ms-powerpoint", "pps": "application/vnd.ms-powerpoint"},
            binary=True,
        ),
        Format(
            "odp",
            "1",
            f"{_HERE}.slides.odp",
            {"odp": "application/vnd.oasis.opendocument.presentation"},
            binary=True,
        ),
        Format(
            "xlsx",
            "1",
            f"{_HERE}.sheets.package",
            {
                "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
                "xlsm": "application/vnd.ms-excel.sheet.macroEnabled.12",
                "xlsb": "application/vnd.ms-excel.sheet.binary.macroEnabled.12",
            },
            binary=True,
        ),
        Format("xls", "1", f"{_HERE}.sheets.xls", {"xls": "application/vnd.ms-excel"}, binary=True),
        Format(
            "ods",
            "1",
            f"{_HERE}.sheets.ods",
            {"ods": "application/vnd.oasis.opendocument.spreadsheet"},
            binary=True,
        ),
        Format("markdown", "2", f"{_HERE}.markdown", {"md": "text/markdown", "markdown": "text/markdown"}),
        Format("text", "1", f"{_HERE}.text", {"txt": "text/plain", "log": "text/plain"}),
        Format("rst", "1", f"{_HERE}.rst", {"rst": "text/x-rst"}),
        Format(
            "html", "2", f"{_HERE}.html", {"html": "text/html", "htm": "text/html", "xhtml": "application/xhtml+xml"}
        ),
        Format("csv", "2", f"{_HERE}.delimited", {"csv": "text/csv", "tsv": "text/tab-separated-values"}),
        Format("epub", "1", f"{_HERE}.epub", {"epub": "application/epub+zip"}, binary=True),
        Format("eml", "1", f"{_HERE}.mail", {"eml": "message/rfc822"}),
        Format("xml", "1", f"{_HERE}.xml_text", {"xml": "application/xml"}),
        Format("json", "2", f"{_HERE}.json_text", {"json": "application/json", "jsonl": "application/jsonl"}),
    )
)


def accepted_extensions() -> frozenset[str]:
    """Extensions (lower case, no dot) that an upload may have."""
    return REGISTRY.extensions()


def mime_type_of(extension: str) -> str:
    """The media type that files of this extension have. Raises DOCUMENT_UNSUPPORTED_FORMAT."""
    return REGISTRY.for_extension(extension).mime_type(extension.lower().removeprefix("."))


def load_registry(reference: str) -> Registry:
    """The registry that `module:attribute` names."""
    module, _, attribute = reference.partition(":")
    registry = getattr(import_module(module), attribute)
    assert isinstance(registry, Registry)
    return registry
