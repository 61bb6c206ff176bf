"""Device-tree source as it lies in a kernel tree, read without a preprocessor: macros stay words, includes are asked
for and named as missing when nobody has them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

MAX_DEPTH = 64
"""Nesting of nodes and includes beyond this is not a device tree."""

Include = Callable[[str], str | None]
"""Gives the text of an included file by the name in the include line, None when it is not there."""


@dataclass(slots=True)
class Node:
    """One node: raw property values (token texts) and children by name, in order."""

    name: str
    labels: list[str] = field(default_factory=list)
    properties: dict[str, list[str]] = field(default_factory=dict)
    children: dict[str, Node] = field(default_factory=dict)

    def walk(self) -> list[Node]:
        """This node and everything below it, parents first."""
        found, queue = [], [self]
        while queue:
            node = queue.pop(0)
            found.append(node)
            queue[:0] = list(node.children.values())
        return found


@dataclass(slots=True)
class SourceTree:
    """A merged tree with its labels, what was included, what was missing, and what could not be read."""

    root: Node
    labels: dict[str, Node] = field(default_factory=dict)
    missing_includes: list[str] = field(default_factory=list)
    unresolved: list[str] = field(default_factory=list)
    """`&label` extensions whose node is in no file read."""
    mistakes: list[str] = field(default_factory=list)


_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', re.DOTALL)
_TOKEN = re.compile(
    r'"(?:\\.|[^"\\])*"|/[a-z0-9-]+/|&\{[^}\n]*\}|&[A-Za-z_]\w*|[A-Za-z0-9_,.+?#@-]+|<<|>>|[{}<>()\[\];:=,*|~!^%&/]'
)
_DIRECTIVE = re.compile(r"^[ \t]*(?:#[ \t]*|/)(include|define|ifdef|ifndef|if|else|elif|endif|undef|error)\b/?(.*)$")
_INCLUDE_NAME = re.compile(r'[<"]([^>"]+)[>"]')


def _strip_comments(text: str) -> str:
    """Without comments; strings are left alone, and line ends stay so that directives keep their lines."""

    def replaced(match: re.Match[str]) -> str:
        whole = match.group(0)
        return whole if whole.startswith('"') else "\n" * whole.count("\n") + " "

    return _COMMENT.sub(replaced, text)


class _Preprocessor:
    """Includes, object-like macros and the conditionals a tree uses; everything else is left as it stands."""

    def __init__(self, include: Include, tree: SourceTree) -> None:
        self._include = include
        self._tree = tree
        self.macros: dict[str, str] = {}
        self._seen: set[str] = set()

    def run(self, text: str, depth: int = 0) -> str:
        """The text with includes in place and directive lines gone."""
        if depth > MAX_DEPTH:
            self._tree.mistakes.append("includes are nested too deeply")
            return ""
        out: list[str] = []
        keep = [True]
        for line in _strip_comments(text).replace("\\\n", " ").split("\n"):
            match = _DIRECTIVE.match(line)
            if match is None:
                if all(keep):
                    out.append(line)
                continue
            self._directive(match.group(1), match.group(2).strip(), keep, out, depth)
        return "\n".join(out)

    def _directive(self, word: str, rest: str, keep: list[bool], out: list[str], depth: int) -> None:
        if word in ("ifdef", "ifndef", "if"):
            keep.append(self._condition(word, rest))
        elif word == "endif":
            if len(keep) > 1:
                keep.pop()
        elif word in ("else", "elif"):
            keep[-1] = not keep[-1] if len(keep) > 1 else True
        elif not all(keep):
            return
        elif word == "define":
            name, _, value = rest.partition(" ")
            if "(" not in name:
                self.macros[name] = value.strip()
        elif word == "include" and (found := _INCLUDE_NAME.search(rest)) is not None:
            out.append(self._included(found.group(1), depth))

    def _condition(self, word: str, rest: str) -> bool:
        if word == "if":
            return rest not in ("0", "")
        return (rest in self.macros) is (word == "ifdef")

    def _included(self, name: str, depth: int) -> str:
        if name in self._seen:
            return ""
        self._seen.add(name)
        text = self._include(name)
        if text is None:
            self._tree.missing_includes.append(name)
            return ""
        return self.run(text, depth + 1)


class _Parser:
    """A reader that never stops: what it does not understand it notes and skips to the next `;` or `}`."""

    def __init__(self, tokens: list[str], tree: SourceTree) -> None:
        self._tokens = tokens
        self._at = 0
        self._tree = tree

    def _peek(self, ahead: int = 0) -> str:
        place = self._at + ahead
        return self._tokens[place] if place < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def top(self) -> None:
        """Root nodes and extensions until the end of the text."""
        while self._at < len(self._tokens):
            labels = self._labels()
            token = self._next()
            if self._peek() == "{":
                self._at += 1
                self._body(self._target(token, labels), 0)
            elif token in ("}", ";", ""):
                continue
            else:
                self._skip()

    def _labels(self) -> list[str]:
        labels = []
        while self._peek(1) == ":":
            labels.append(self._next())
            self._at += 1
        return labels

    def _target(self, token: str, labels: list[str]) -> Node:
        if token == "/":
            node = self._tree.root
        elif token.startswith("&") and token[1:] in self._tree.labels:
            node = self._tree.labels[token[1:]]
        else:
            self._tree.unresolved.append(token)
            node = Node(token)
        self._name(node, labels)
        return node

    def _name(self, node: Node, labels: list[str]) -> None:
        for label in labels:
            node.labels.append(label)
            self._tree.labels[label] = node

    def _body(self, node: Node, depth: int) -> None:
        """Properties and children up to the closing brace."""
        while self._at < len(self._tokens):
            token = self._peek()
            if token == "}":
                self._at += 1
                return
            if token in (";", "/omit-if-no-ref/"):
                self._at += 1
                continue
            if token in ("/delete-node/", "/delete-property/"):
                self._delete(node)
                continue
            labels = self._labels()
            name = self._next()
            following = self._peek()
            if following == "{":
                self._at += 1
                self._child(node, name, labels, depth)
            elif following == "=":
                self._at += 1
                node.properties[name] = self._value()
            elif following == ";":
                node.properties[name] = []
            elif following != "":
                self._tree.mistakes.append(f"{node.name}: {name} {following} is not understood")
                self._skip()

    def _child(self, node: Node, name: str, labels: list[str], depth: int) -> None:
        child = node.children.setdefault(name, Node(name))
        self._name(child, labels)
        if depth >= MAX_DEPTH:
            self._tree.mistakes.append("nodes are nested too deeply")
            self._at = len(self._tokens)
            return
        self._body(child, depth + 1)

    def _delete(self, node: Node) -> None:
        kind, name = self._next(), self._next()
        if kind == "/delete-property/":
            node.properties.pop(name, None)
        else:
            node.children.pop(name, None)

    def _value(self) -> list[str]:
        """Tokens up to the `;` that ends the property."""
        found: list[str] = []
        while self._at < len(self._tokens):
            token = self._next()
            if token == ";":
                break
            if token in ("{", "}"):
                self._at -= 1
                break
            found.append(token)
        return found

    def _skip(self) -> None:
        while self._at < len(self._tokens) and self._next() not in (";", "}"):
            continue


def parse_source(texts: list[str], include: Include) -> SourceTree:
    """One tree from texts that extend one another in order. Never raises; `mistakes` says what was skipped."""
    tree = SourceTree(Node("/"))
    preprocessor = _Preprocessor(include, tree)
    tokens: list[str] = []
    for text in texts:
        tokens += _TOKEN.findall(preprocessor.run(text))
    tokens = [preprocessor.macros.get(token, token) for token in tokens]
    _Parser(tokens, tree).top()
    return tree
