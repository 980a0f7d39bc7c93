"""The commands of `docs/deploy.md`, and those of other pages that need an account.

Decides by the word after `sh` how a block is run: without a word here and now; `account` against a stand-in; `server`
in the background; `install` not at all; `replay` by tests/operations.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HANDBOOK = ROOT / "docs" / "deploy.md"
README = ROOT / "README.md"
OPERATIONS = ROOT / "docs" / "operations.md"
KINDS = ("", "account", "server", "install", "replay")


def blocks(page=HANDBOOK):
    """Every fenced block of commands, or of what they print (kind `text`): the section it stands in, its kind, its text."""
    section, found, inside = "", [], None
    for line in page.read_text().splitlines():
        fence = re.fullmatch(r"( *)```(\w*) ?(\w*)[ \w-]*", line)
        if inside is None and fence:
            indent, language, kind = fence.groups()
            assert page == README or language == "sh", line
            assert kind in KINDS, line
            inside = (indent, language, kind, [])
        elif inside is not None and fence:
            indent, language, kind, lines = inside
            if language in ("sh", "text"):
                kind = "text" if language == "text" else kind
                found.append((section, kind, "\n".join(line.removeprefix(indent) for line in lines)))
            inside = None
        elif inside is not None:
            inside[3].append(line)
        elif line.startswith("## "):
            section = line.removeprefix("## ")
    assert inside is None
    return found


def texts(kind, section=None, page=HANDBOOK):
    return [text for where, what, text in blocks(page) if what == kind and section in (None, where)]
