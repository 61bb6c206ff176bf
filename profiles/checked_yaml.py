"""YAML that is checked against a shape before anyone uses it, with the line of every mistake in its message."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from entity_tui.errors import UsageError

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class ProfileError(UsageError):
    """A profile file that does not say what it must; `detail` lists every mistake with file and line."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """One plain value. `kind` is `str`, `int`, `float` (a whole number is fine) or `bool`."""

    kind: type
    choices: tuple[Any, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    optional: bool = False
    check: Callable[[Any], str] | None = None
    """Returns what is wrong with the value, empty when nothing is."""


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list whose items all have one shape."""

    item: Shape
    minimum: int = 0


@dataclass(frozen=True, slots=True)
class MapOf:
    """A mapping with free keys and one shape of value."""

    value: Shape
    key_check: Callable[[str], str] | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """A mapping with named keys; anything else is a mistake."""

    required: Mapping[str, Shape] = field(default_factory=dict)
    optional: Mapping[str, Shape] = field(default_factory=dict)


Shape = Scalar | ListOf | MapOf | Record


class _Reader:
    """Walks a YAML node tree beside its shape, gathering values and mistakes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.mistakes: list[str] = []
        self._constructor = yaml.SafeLoader("")

    def wrong(self, node: Any, where: str, words: str) -> None:
        line = node.start_mark.line + 1
        self.mistakes.append(f"{self.name}:{line}: {where or 'file'}: {words}")

    def read(self, node: Any, shape: Shape, where: str) -> Any:
        if isinstance(shape, Scalar):
            return self._scalar(node, shape, where)
        if isinstance(shape, ListOf):
            return self._list(node, shape, where)
        return self._mapping(node, shape, where)

    def _scalar(self, node: Any, shape: Scalar, where: str) -> Any:
        if not isinstance(node, yaml.ScalarNode):
            self.wrong(node, where, f"expected {shape.kind.__name__}, found a {node.id}")
            return None
        value: Any = self._constructor.construct_object(node)
        if value is None and shape.optional:
            return None
        if shape.kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        right = isinstance(value, shape.kind) and (shape.kind is bool or not isinstance(value, bool))
        if not right:
            self.wrong(node, where, f"expected {shape.kind.__name__}, found {node.value!r}")
            return None
        if shape.choices and value not in shape.choices:
            self.wrong(node, where, f"{value!r} is none of {', '.join(map(str, shape.choices))}")
        if shape.minimum is not None and value < shape.minimum:
            self.wrong(node, where, f"{value} is below {shape.minimum}")
        if shape.maximum is not None and value > shape.maximum:
            self.wrong(node, where, f"{value} is above {shape.maximum}")
        if shape.check is not None and (words := shape.check(value)):
            self.wrong(node, where, words)
        return value

    def _list(self, node: Any, shape: ListOf, where: str) -> list[Any]:
        if not isinstance(node, yaml.SequenceNode):
            self.wrong(node, where, f"expected a list, found a {node.id}")
            return []
        if len(node.value) < shape.minimum:
            self.wrong(node, where, f"needs at least {shape.minimum} items")
        return [self.read(item, shape.item, f"{where}[{place}]") for place, item in enumerate(node.value)]

    def _mapping(self, node: Any, shape: MapOf | Record, where: str) -> dict[str, Any]:
        if not isinstance(node, yaml.MappingNode):
            self.wrong(node, where, f"expected a mapping, found a {node.id}")
            return {}
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(getattr(key_node, "value", ""))
            inner = f"{where}.{key}" if where else key
            if key in found:
                self.wrong(key_node, inner, "given twice")
                continue
            expected = self._expected(key_node, key, shape, inner)
            if expected is not None:
                found[key] = self.read(value_node, expected, inner)
        if isinstance(shape, Record):
            for key in shape.required:
                if key not in found:
                    self.wrong(node, where, f"{key} is missing")
        return found

    def _expected(self, node: Any, key: str, shape: MapOf | Record, where: str) -> Shape | None:
        if isinstance(shape, MapOf):
            if shape.key_check is not None and (words := shape.key_check(key)):
                self.wrong(node, where, words)
                return None
            return shape.value
        expected = shape.required.get(key) or shape.optional.get(key)
        if expected is None:
            known = ", ".join(sorted({*shape.required, *shape.optional}))
            self.wrong(node, where, f"unknown key; known are {known}")
        return expected


def read_checked(text: str, name: str, shape: Shape) -> Any:
    """The data of a YAML text, or ProfileError naming the file and line of every mistake. `name` is shown as given."""
    try:
        node = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = 1 if mark is None else mark.line + 1
        problem = getattr(error, "problem", None) or "cannot be read"
        raise ProfileError(
            f"{name} is not valid YAML", detail=f"{name}:{line}: {problem}", fix="correct the file at that line"
        ) from error
    if node is None:
        raise ProfileError(f"{name} is empty", detail=f"{name}:1: nothing in it", fix="fill it or remove it")
    reader = _Reader(name)
    data = reader.read(node, shape, "")
    if reader.mistakes:
        raise ProfileError(
            f"{name} does not have the expected shape", detail="\n".join(reader.mistakes), fix="correct these lines"
        )
    return data
