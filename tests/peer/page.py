"""The tables that scripts write into the pages."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"


def write(tables):
    """Puts each table between the page's markers of its name."""
    text = PAGE.read_text()
    for name, table in tables.items():
        text, found = re.subn(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", lambda match: f"{match[1]}{table}\n{match[2]}", text, flags=re.S)
        assert found == 1, f"no place for {name}"
    PAGE.write_text(text)


def rows(titles, lines):
    """A table in Markdown."""
    table = [titles, ["---"] * len(titles), *lines]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in table)
