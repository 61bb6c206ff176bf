"""Every key of the interface, once: bindings, footers, help and the palette are all made from this table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from textual.binding import Binding


@dataclass(frozen=True, slots=True)
class Key:
    """One binding. `id` can be bound to other keys in the settings; `shown` is how the key is written."""

    id: str
    keys: str
    """Textual key names, the first is the one that is shown."""
    shown: str
    action: str
    word: str
    """The word in the footer."""
    help: str
    """What it does, for Help and the palette."""
    short: str = ""
    """A shorter word for narrow footers."""

    @property
    def binding(self) -> Binding:
        """The binding for Textual."""
        return Binding(self.keys, self.action, self.help, show=False, id=self.id, key_display=self.shown)


def _table(*keys: Key) -> Mapping[str, Key]:
    return {key.id: key for key in keys}


KEYS: Mapping[str, Key] = _table(
    # everywhere
    Key("screen.dashboard", "1,f2", "1", "app.goto('dashboard')", "dashboard", "go to Dashboard"),
    Key("screen.chat", "2,f3", "2", "app.goto('chat')", "chat", "go to Chat"),
    Key("screen.bench", "3,f4", "3", "app.goto('bench')", "bench", "go to Bench"),
    Key("screen.placement", "4,f5", "4", "app.goto('placement')", "placement", "go to Placement"),
    Key("screen.models", "5,f6", "5", "app.goto('models')", "models", "go to Models"),
    Key("screen.history", "6,f7", "6", "app.goto('history')", "history", "go to History"),
    Key("device", "d", "d", "app.goto('picker')", "device", "choose a device"),
    Key("bench.run_default", "b", "b", "app.run_default('ablation')", "bench", "run the default bench plan now"),
    Key(
        "placement.run_default",
        "p",
        "p",
        "app.run_default('placement')",
        "placement",
        "run the placement comparison now",
        "place",
    ),
    Key("palette", "ctrl+p", "^p", "app.command_palette", "palette", "every action, device and theme, by name"),
    Key("jump", "ctrl+o", "^o", "screen.jump", "jump", "letters appear on panels, press one to focus it"),
    Key("help", "question_mark,f1", "?", "app.help", "help", "help of this screen"),
    Key("log", "l", "l", "app.log", "log", "the whole log"),
    Key("quit", "q", "q", "app.ask_quit", "quit", "quit; asks only when a run is in flight"),
    Key("panel.next", "tab", "tab", "screen.next_panel(1)", "panel", "next panel"),
    Key("panel.previous", "shift+tab", "shift+tab", "screen.next_panel(-1)", "panel", "previous panel"),
    Key("zoom", "z", "z", "screen.zoom", "zoom", "zoom the focused panel, again or esc to return"),
    Key("copy", "y", "y", "screen.copy", "copy", "copy the value, row, table or path in focus"),
    Key("export.csv", "e", "e", "screen.export('csv')", "export csv", "write CSV; the path is shown", "csv"),
    Key("export.json", "E", "E", "screen.export('json')", "json", "write JSON; the path is shown"),
    Key("back", "escape", "esc", "screen.back", "back", "one step back"),
    Key("list.down", "j,down", "j", "screen.move(1)", "down", "one row down"),
    Key("list.up", "k,up", "k", "screen.move(-1)", "up", "one row up"),
    Key("list.page_down", "pagedown", "pgdn", "screen.move(10)", "page down", "ten rows down"),
    Key("list.page_up", "pageup", "pgup", "screen.move(-10)", "page up", "ten rows up"),
    Key("list.top", "g,home", "g", "screen.move(-1000000)", "top", "first row"),
    Key("list.end", "G,end", "G", "screen.move(1000000)", "end", "last row"),
    Key("interrupt", "ctrl+c", "^c", "app.interrupt", "stop", "stop what this screen runs; quits when nothing runs"),
    # graphs
    Key("graph.pause", "space", "space", "screen.act", "pause", "pause and go on; the sampler never stops"),
    Key("graph.shorter", "left_square_bracket", "[", "screen.span(-1)", "shorter", "shorter time span"),
    Key("graph.longer", "right_square_bracket", "]", "screen.span(1)", "longer", "longer time span"),
    Key("graph.back", "comma", ",", "screen.scroll_time(-1)", "back", "scroll back in time (zoomed graphs)"),
    Key("graph.forward", "full_stop", ".", "screen.scroll_time(1)", "forward", "scroll forward in time"),
    Key(
        "graph.cursor_left", "left", "←", "screen.time_cursor(-1)", "cursor", "time cursor to the left (zoomed graphs)"
    ),
    Key("graph.cursor_right", "right", "→", "screen.time_cursor(1)", "cursor", "time cursor to the right"),
    Key("sensors", "v", "v", "screen.choose_shown", "sensors", "which sensors the graph shows"),
    Key("explain", "enter", "enter", "screen.open", "scores", "the score of each variant"),
    Key("filter", "slash", "/", "screen.filter", "filter", "filter the rows"),
    Key("order", "o", "o", "screen.order", "order", "order the rows by another column"),
    # picker
    Key("picker.connect", "enter", "enter", "screen.open", "connect", "connect to the row under the cursor"),
    Key("picker.retry", "r", "r", "screen.retry", "retry", "try the row under the cursor again"),
    Key("picker.add", "a", "a", "screen.add", "add ssh", "add a phone over SSH (Termux, sshd)"),
    Key("picker.pair", "P", "P", "screen.pair", "pair", "pair over Wi-Fi, with the phone's code or a QR code"),
    Key("picker.forget", "x", "x", "screen.delete", "forget", "forget the remembered device under the cursor"),
    # bench and placement
    Key("run.start", "r", "r", "screen.run", "run", "run the plan of this screen"),
    Key("run.stop", "s", "s", "screen.stop", "stop", "stop after the current cell; twice stops now"),
    Key("run.arms", "a", "a", "screen.arms", "arms", "every experiment with its command"),
    Key("run.details", "enter", "enter", "screen.open", "details", "the cells of the row under the cursor"),
    # placement
    Key("mask.left", "left", "←", "screen.time_cursor(-1)", "core", "core to the left"),
    Key("mask.right", "right", "→", "screen.time_cursor(1)", "core", "core to the right"),
    Key("mask.toggle", "space", "space", "screen.act", "toggle", "put the core into the mask, or take it out"),
    Key("placement.apply", "enter", "enter", "screen.apply", "apply", "use the placement under the cursor here"),
    Key("mask.new", "n", "n", "screen.new", "new", "a new placement of your own"),
    # chat
    Key("chat.again", "ctrl+r", "^r", "screen.again", "again", "another answer to the last question; both are kept"),
    Key("chat.new", "ctrl+n", "^n", "screen.new", "new", "a new conversation"),
    Key("chat.tune", "ctrl+t", "^t", "screen.tune", "tune", "sampling, context, threads, system prompt"),
    Key("chat.open", "o", "o", "screen.choose", "list", "the list of conversations; type to search"),
    Key("chat.rename", "w", "w", "screen.rename", "rename", "give this conversation another title"),
    Key("chat.delete", "x", "x", "screen.delete", "delete", "delete this conversation, after a question that names it"),
    Key("chat.write", "i,enter", "i", "screen.write", "write", "into the message field; esc leaves it"),
    Key("chat.keep", "K", "K", "screen.keep", "keep", "save this conversation's KV state on the device"),
    Key("chat.reasoning", "v", "v", "screen.reasoning", "thoughts", "fold or unfold what the model thought"),
    Key("chat.earlier", "less_than_sign", "<", "screen.alternative(-1)", "earlier", "the answer before this one"),
    Key("chat.later", "greater_than_sign", ">", "screen.alternative(1)", "later", "the answer after this one"),
    Key("find.next", "n", "n", "screen.find(1)", "next", "next hit"),
    Key("find.previous", "N", "N", "screen.find(-1)", "previous", "previous hit"),
    # models
    Key("model.order", "o", "o", "screen.order", "order", "order by fit, size, speed or name"),
    Key("model.inspect", "i", "i", "screen.inspect", "inspect", "the tensors of the model under the cursor"),
    Key("model.push", "u", "u", "screen.push", "push file", "push a GGUF of this computer to the device", "push"),
    Key("model.delete", "x", "x", "screen.delete", "delete", "delete the model from the device, after a question"),
    Key("model.bench", "r", "r", "screen.run", "bench this", "run the default bench plan with this model", "bench"),
    # history
    Key("history.mark", "space", "space", "screen.act", "mark", "mark the row as a, then b"),
    Key("history.compare", "C", "C", "screen.compare", "compare", "compare the two marked rows"),
    Key("history.tag", "t", "t", "screen.tag", "tag", "add or remove a tag"),
    Key("history.delete", "x", "x", "screen.delete", "delete", "delete the run, after a question that names it"),
    Key("history.open", "enter", "enter", "screen.open", "open", "every cell of the run under the cursor"),
    # log
    Key("log.wrap", "W", "W", "screen.wrap", "wrap", "fold long lines, or not"),
    Key("log.follow", "F", "F", "screen.follow", "follow", "keep the newest line in view"),
)

EVERYWHERE = (
    "screen.dashboard",
    "screen.chat",
    "screen.bench",
    "screen.placement",
    "screen.models",
    "screen.history",
    "device",
    "bench.run_default",
    "placement.run_default",
    "jump",
    "help",
    "log",
    "quit",
    "panel.next",
    "panel.previous",
    "zoom",
    "copy",
    "export.csv",
    "export.json",
    "back",
    "list.down",
    "list.up",
    "list.page_down",
    "list.page_up",
    "list.top",
    "list.end",
)
"""The bindings of every screen; the palette and ctrl+c belong to the application."""


def bindings(ids: Iterable[str]) -> list[Binding]:
    """Textual bindings for a screen."""
    return [KEYS[id].binding for id in ids]


_SIGNS = {
    "question_mark": "?",
    "slash": "/",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "comma": ",",
    "full_stop": ".",
    "escape": "esc",
}


def shown_key(id: str, keymap: Mapping[str, str]) -> str:
    """How the key of a binding is written, with the user's own key when there is one."""
    own = keymap.get(id)
    if not own:
        return KEYS[id].shown
    first = own.split(",")[0]
    return _SIGNS.get(first, first.replace("ctrl+", "^"))
