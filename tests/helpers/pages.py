"""What every page of results must look like."""

import re

from benchmarks.pages import GOALS, MADE

# So many columns can be read at 1280 pixels, if they are narrow.
MOST_COLUMNS = 11


def ordered(text, picture=True):
    """Fail unless a page opens with its meaning; then picture, tables, protocol, goals.

    Returns the page, so that a test can go on with it.
    """
    title, opening, *_ = text.split("\n\n")
    assert re.fullmatch("# [A-Z].+", title)
    assert opening[0] not in "|!#", "no sentence before the picture"
    assert len(opening) > 100, "hardly an opening"
    head, made, protocol = text.partition(f"\n## {MADE}\n")
    assert made, "not said how the page is made"
    early = re.search(r"Made by|do not edit|\b(not )?met\b|Versions", head)
    assert not early, f"{early} before the protocol"
    table = head.find("\n|")
    if picture:
        assert 0 < head.find("![") < table, "no picture before the tables"
    if f"\n## {GOALS}\n" in text:
        assert f"\n## {GOALS}\n" in protocol
    else:
        assert " goals are met" not in text
    for line in re.findall(r"^\|.*\|$", text, re.MULTILINE):
        columns = len(re.findall(r"(?<!\\)\|", line)) - 1
        assert columns <= MOST_COLUMNS, f"{columns} columns: {line[:80]}"
    return text
