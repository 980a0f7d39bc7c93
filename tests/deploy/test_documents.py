"""The documents for those who deploy without the template say what the template says."""

import json

import pytest

from documents import PLACEHOLDERS, documents


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_a_document_is_the_templates(path):
    assert path.read_text() == documents()[path], "write it again: python tests/deploy/documents.py"


def test_nothing_of_the_example_is_left_in_a_document():
    for text in documents().values():
        json.loads(text)
        assert "<" not in text and "the-archive" not in text and "123456789012" not in text and "eu-central-1" not in text


def test_every_placeholder_is_used():
    together = "".join(documents().values())
    assert all(placeholder in together for _, placeholder in PLACEHOLDERS)
