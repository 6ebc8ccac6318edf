"""Blocks say the same on a terminal, in a notebook and on a page."""

import base64
import re
from xml.dom import minidom

from heterolda.inspection.blocks import (
    Figure,
    Heading,
    Paragraph,
    Table,
    to_lines,
    to_page,
    to_text,
)

ROWS = [["<b>", 0.5, "x\ny"], ["two", 0.25, "z"], ["three", 0.25, ""]]
BLOCKS = [
    Paragraph(["A lead & more.", "Second line."]),
    Heading("Part"),
    Table(["name", "share", ""], ROWS, "Title", max_rows=1, bars=True),
    Paragraph(["small"], small=True),
    Figure(lambda canvas: canvas.subplots().plot([0, 1]), "Caption <i>.", "A line"),
    Heading("Other"),
    Table([], [["one", "two"]], "Press", folded=True),
]


def test_a_terminal_shows_lines():
    assert to_lines(BLOCKS) == [
        "A lead & more.",
        "Second line.",
        "",
        "Part",
        "  Title",
        "  name   share",
        "  <b>   50.0 %  x, y",
        "  and 2 more names with 50.0 %",
        "",
        "  small",
        "",
        "Other",
        "  Press",
        "  one  two",
    ]
    long = to_text([Paragraph(["word " * 40])])
    assert max(map(len, long.splitlines())) <= 88
    assert to_lines([Paragraph(["word " * 40])]) == ["word " * 40]


def test_a_page_has_sections_tables_and_pictures():
    page = to_page("T & t", "a_long_name_of data_1", BLOCKS)
    assert "<title>T &amp; t</title>" in page
    assert "<h1>a_<wbr>long_<wbr>name_<wbr>of data_1</h1>" in page
    lead, *parts = re.split("<section>", page.partition("<body>")[2])
    assert "<p>A lead &amp; more.</p>\n<p>Second line.</p>" in lead
    assert len(parts) == 2
    assert '<p class="note">Title</p>' in parts[0]
    assert '<th scope="col">name</th><th scope="col">share</th>' in parts[0]
    assert '<tr><th scope="row">&lt;b&gt;</th><td><span>50.0&nbsp;%' in parts[0]
    assert "<b>" not in page
    assert '<i style="width:100.0%">' in parts[0]
    assert '<p class="note">and 1 more name with 25.0&nbsp;%</p>' in parts[0]
    assert page.count('<img alt="A line: Caption') == 1
    assert "<figcaption>Caption &lt;i&gt;.</figcaption>" in parts[0]
    assert "<details><summary>Press</summary>" in parts[1]


def test_pages_and_pictures_have_no_control_characters():
    """Names of columns and classes may have any; pictures were broken by them."""
    name = "a\0\x07\x1b[31m\x85\u202e\ufffe\ud800\r<"
    shown = r"a\x00\x07\x1b[31m\x85\u202e\ufffe\ud800\r&lt;"
    blocks = [
        Heading(name),
        Paragraph([name]),
        Table(["name", name], [[name, name]], name),
        Figure(lambda canvas: canvas.suptitle(name[:-3]), name, name),
    ]
    page = to_page(name, name, blocks)
    assert page.count(shown) == 11
    assert not re.search("[\0-\b\x0b-\x1f\x7f-\x9f\u202e\ufffe\ud800-\udfff]", page)
    (image,) = re.findall('src="data:image/svg.xml;base64,(.*?)"', page)
    drawn = minidom.parseString(base64.b64decode(image))  # noqa: S318
    assert drawn.documentElement.tagName == "svg"
