"""Excel workbooks, made of their parts so that each can be damaged."""

from __future__ import annotations

import io
import re
import zipfile
from xml.sax.saxutils import escape

from fuzz.changes import CELLS, change_bytes

_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_KEYS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
# What may stand where a workbook names a cell, a style, a part or a number.
_VALUES = ["", "0", "1", "-1", "A1", "XFD1048576", "ZZZZ9", "9" * 30, "1e400", "s", "b"]


def parts(*sheets, **attributes):
    """Return the parts of a workbook by their names, as Excel writes them.

    A sheet is a list of rows of numbers, text, booleans, None for empty cells, or a
    tuple of all attributes and the text of a cell. `attributes` are those of sheets.
    """
    texts, content, names, keys = [], {}, "", ""
    more = "".join(f' {name}="{value}"' for name, value in attributes.items())
    for k, rows in enumerate(sheets, 1):
        body = "".join(_row(n, row, texts) for n, row in enumerate(rows, 1))
        content[f"xl/worksheets/sheet{k}.xml"] = (
            f"<worksheet {_MAIN}><sheetData>{body}</sheetData></worksheet>"
        )
        names += f'<sheet name="Sheet{k}" sheetId="{k}" r:id="rId{k}"{more}/>'
        keys += _relation(f"rId{k}", "worksheet", f"worksheets/sheet{k}.xml")
    keys += _relation("rId98", "styles", "styles.xml")
    keys += _relation("rId99", "sharedStrings", "/xl/sharedStrings.xml")
    items = "".join(f"<si><t>{escape(text)}</t></si>" for text in texts)
    top = _relation("rId1", "officeDocument", "xl/workbook.xml")
    return content | {
        "xl/workbook.xml": f'<workbook {_MAIN} xmlns:r="{_KEYS}"><sheets>{names}'
        "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_RELATIONS}">{keys}'
        "</Relationships>",
        "_rels/.rels": f'<Relationships xmlns="{_RELATIONS}">{top}</Relationships>',
        "xl/sharedStrings.xml": f"<sst {_MAIN}>{items}</sst>",
        "xl/styles.xml": f'<styleSheet {_MAIN}><numFmts count="1">'
        '<numFmt numFmtId="164" formatCode="[h]:mm;@"/></numFmts><cellXfs>'
        '<xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/><xf numFmtId="164"/>'
        "</cellXfs></styleSheet>",
    }


def _relation(key, kind, target):
    return f'<Relationship Id="{key}" Type="{_KEYS}/{kind}" Target="{target}"/>'


def _row(number, row, texts):
    cells = (
        _cell(f"{_letters(at)}{number}", value, texts) for at, value in enumerate(row)
    )
    return f'<row r="{number}">{"".join(cells)}</row>'


def _letters(at):
    high, low = divmod(at, 26)
    return (_letters(high - 1) if high else "") + chr(ord("A") + low)


def _cell(place, value, texts):
    if value is None:
        return f'<c r="{place}" s="1"/>'
    if isinstance(value, tuple):
        return f'<c r="{place}" {value[0]}><v>{value[1]}</v></c>'
    if isinstance(value, str):
        texts.append(value)
        return f'<c r="{place}" t="s"><v>{len(texts) - 1}</v></c>'
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{value:d}</v></c>'
    return f'<c r="{place}"><v>{float(value)!r}</v></c>'


def packed(content):
    """Return the bytes of a workbook of some parts."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in content.items():
            entry = zipfile.ZipInfo(name)  # without the time, the same bytes each time
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, text)
    return file.getvalue()


def change_excel(data, rng):
    """Return another workbook: damaged, or a good archive of a damaged part."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            content = {name: archive.read(name) for name in archive.namelist()}
    except Exception:  # damaged by a change before
        content = {}
    if rng.random() < 0.3 or not content:
        return change_bytes(data, rng)
    name = rng.choice([*content, *[n for n in content if "sheet" in n] * 3])
    text, kind = content[name], rng.randrange(8)
    # The values of attributes, and the texts of elements.
    places = list(re.finditer(rb'(?<==")[^"]*|(?<=>)[^<]+', text))
    if kind == 0:
        del content[name]
    elif kind <= 2 or not places:
        content[name] = change_bytes(text, rng)
    else:
        place = rng.choice(places)
        value = escape(rng.choice([*_VALUES, *CELLS]), {'"': "&quot;"})
        content[name] = text[: place.start()] + value.encode() + text[place.end() :]
    return packed(content)
