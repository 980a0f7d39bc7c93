"""The commands of `docs/deploy.md`.

Decides by the word after `sh` how a block is run: without a word here and now; `account` against a stand-in; `server`
in the background; `install` not at all.
"""

import re
from pathlib import Path

HANDBOOK = Path(__file__).resolve().parents[2] / "docs" / "deploy.md"
KINDS = ("", "account", "server", "install")


def blocks():
    """Every fenced block: the section it stands in, its kind, its text."""
    section, found, inside = "", [], None
    for line in HANDBOOK.read_text().splitlines():
        fence = re.fullmatch(r"( *)```(\w*) ?(\w*)", line)
        if inside is None and fence:
            indent, language, kind = fence.groups()
            assert language == "sh" and kind in KINDS, line
            inside = (indent, kind, [])
        elif inside is not None and fence:
            indent, kind, lines = inside
            found.append((section, kind, "\n".join(line.removeprefix(indent) for line in lines)))
            inside = None
        elif inside is not None:
            inside[2].append(line)
        elif line.startswith("## "):
            section = line.removeprefix("## ")
    assert inside is None
    return found


def texts(kind, section=None):
    return [text for where, what, text in blocks() if what == kind and section in (None, where)]
