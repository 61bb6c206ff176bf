"""A long reply as a stream of tokens: prose, code, lists, tables, formulas, the same every time."""

from __future__ import annotations

PARAGRAPH = (
    "Each new token reads every weight once, so decode is bound by **memory bandwidth**, not by `arithmetic`: "
    "extra threads wait at the barrier, and a slow core makes all the fast ones wait for it. "
)
BLOCKS = (
    PARAGRAPH * 3 + "\n\n",
    "## What follows\n\n",
    "- four threads on the big cluster\n- eight threads on all cores\n- one thread, for the noise\n\n",
    "```sh\nllama-bench -m m.gguf -t 4 -n 128\nllama-bench -m m.gguf -t 8 -n 128\n```\n\n",
    "| arm | tok/s | W |\n|---|---|---|\n| naive | 8.9 | 4.4 |\n| optimized | 18.3 | 4.1 |\n\n",
    "$$\ntokens/s \\le \\frac{BW}{weights}\n$$\n\n",
)


def tokens(count: int) -> list[str]:
    """`count` pieces of about four characters."""
    text = ""
    while len(text) < count * 4:
        for block in BLOCKS:
            text += block
    return [text[at : at + 4] for at in range(0, count * 4, 4)]
