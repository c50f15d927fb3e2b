"""S3's XML as a client reads and writes it. A document type is refused: no answer of S3 has one."""

from dataclasses import dataclass, field
from xml.parsers import expat

DEPTH_LIMIT = 32
"""Deepest nesting that is read; S3's own is five."""


@dataclass(slots=True)
class Node:
    """An element: its name without a namespace, its text, and those in it."""

    name: str
    text: str = ""
    children: "list[Node]" = field(default_factory=list)

    def all(self, name: str) -> "list[Node]":
        """Return the children of that name."""
        return [child for child in self.children if child.name == name]

    def text_of(self, name: str, default: str = "") -> str:
        """Return the text of the first child of that name."""
        for child in self.children:
            if child.name == name:
                return child.text
        return default


class _Builder:
    def __init__(self) -> None:
        self.open: list[Node] = [Node("")]

    def start(self, tag: str, attributes: object) -> None:
        del attributes
        if len(self.open) > DEPTH_LIMIT:
            raise ValueError("the document is nested too deeply")
        node = Node(tag.rpartition(":")[2])
        self.open[-1].children.append(node)
        self.open.append(node)

    def end(self, tag: str) -> None:
        del tag
        self.open.pop()

    def data(self, text: str) -> None:
        self.open[-1].text += text

    def refuse(self, *about: object) -> None:
        del about
        raise ValueError("the document has a document type")


def parse(document: bytes, root: str = "") -> Node:
    """Read a document, whose root must have that name if one is given; raises ValueError."""
    parser, builder = expat.ParserCreate(), _Builder()
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = builder.refuse
    try:
        parser.Parse(document, True)  # noqa: FBT003 - expat's own signature
    except expat.ExpatError as reason:
        raise ValueError(f"it is not well-formed: {reason}") from None
    found = builder.open[0].children[0]
    if root and found.name != root:
        raise ValueError(f"its root is {found.name}, not {root}")
    return found


def escape(text: str) -> str:
    """Write text into XML, with what XML cannot carry plainly as references."""
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return "".join(char if char >= " " else f"&#{ord(char)};" for char in plain)
