"""A compiled device tree as the same tree of nodes that its source gives."""

from __future__ import annotations

import struct

from entity_tui.silicon.devicetree_source import MAX_DEPTH, Node, SourceTree

MAGIC = 0xD00DFEED
_BEGIN, _END, _PROPERTY, _NOP, _STOP = 1, 2, 3, 4, 9
_TEXTS = frozenset({"compatible", "device_type", "enable-method", "model", "status", "opp-supported-hw-name"})


def is_blob(data: bytes) -> bool:
    """True for a flattened device tree."""
    return len(data) >= 40 and struct.unpack(">I", data[:4])[0] == MAGIC


def _cells(raw: bytes) -> list[str]:
    """A value as the tokens its source would have: words of 32 bits between angle brackets."""
    whole = len(raw) - len(raw) % 4
    return ["<", *(str(word) for word in struct.unpack(f">{whole // 4}I", raw[:whole])), ">"]


def _tokens(name: str, raw: bytes) -> list[str]:
    if name in _TEXTS or name.endswith("-names"):
        return [f'"{part.decode("utf-8", "replace")}"' for part in raw.rstrip(b"\0").split(b"\0")]
    if name == "opp-hz" and len(raw) == 8:
        return ["/bits/", "64", "<", str(struct.unpack(">Q", raw)[0]), ">"]
    return _cells(raw) if raw else []


def parse_blob(data: bytes) -> SourceTree:
    """The tree of a blob; a cut or damaged one gives what came before the damage and says so in `mistakes`.

    References by phandle are given labels `phandle_N`, so that they resolve as they do in source.
    """
    tree = SourceTree(Node("/"))
    if not is_blob(data):
        tree.mistakes.append("not a flattened device tree")
        return tree
    _, _, at_struct, at_strings = struct.unpack(">4I", data[:16])
    stack: list[Node] = []
    place = at_struct
    try:
        while place + 4 <= len(data):
            (kind,) = struct.unpack_from(">I", data, place)
            place += 4
            if kind == _BEGIN:
                end = data.index(b"\0", place)
                name = data[place:end].decode("utf-8", "replace")
                place = (end + 4) & ~3
                node = tree.root if not stack else stack[-1].children.setdefault(name, Node(name))
                if len(stack) >= MAX_DEPTH:
                    raise ValueError("nested too deeply")
                stack.append(node)
            elif kind == _END:
                stack.pop()
            elif kind == _PROPERTY:
                place = _property(data, place, at_strings, stack[-1], tree)
            elif kind == _STOP:
                break
            elif kind != _NOP:
                raise ValueError(f"unknown token {kind}")
    except (ValueError, IndexError, struct.error) as error:
        tree.mistakes.append(f"the blob is damaged after byte {place}: {error}")
    return tree


def _property(data: bytes, place: int, at_strings: int, node: Node, tree: SourceTree) -> int:
    """Read one property; returns the place behind it. Raises on damage, which the caller reports."""
    length, offset = struct.unpack_from(">2I", data, place)
    place += 8
    start = at_strings + offset
    name = data[start : data.index(b"\0", start)].decode("utf-8", "replace")
    raw = data[place : place + length]
    if len(raw) != length:
        raise ValueError("cut inside a property")
    node.properties[name] = _tokens(name, raw)
    if name in ("phandle", "linux,phandle") and length == 4:
        label = f"phandle_{struct.unpack('>I', raw)[0]}"
        if label not in node.labels:
            node.labels.append(label)
        tree.labels[label] = node
    return int(place + length + 3) & ~3
