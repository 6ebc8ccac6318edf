"""Excel workbooks: the answers of the same table in CSV; hostile ones are rejected."""

import datetime

import numpy as np
import openpyxl
import pytest
from openpyxl.utils.datetime import CALENDAR_MAC_1904, CALENDAR_WINDOWS_1900, from_excel

from fuzz.commands import a_folder
from fuzz.excel_files import packed, parts
from helpers.cli import invoke, make_frame, rows_of, succeed
from heterolda import load
from heterolda.data import excel, statistics_from_batches
from heterolda.data.excel import open_workbook

FIT = "fit", "--target", "kind", "--exclude", "id", "--out"


def rows_with_names(frame):
    return [list(frame.columns), *frame.to_numpy(dtype=object).tolist()]


def written(path, rows, at=(1, 1), title=None):
    """Write a workbook by another program than ours."""
    book = openpyxl.Workbook()
    book.active["A1"] = title
    for i, row in enumerate(rows, at[0]):
        for j, value in enumerate(row, at[1]):
            book.active.cell(i, j, value)
    book.save(path)


def content(*sheets, **attributes):
    return packed(parts(*sheets, **attributes))


def first_rows(data):
    """The rows of the first sheet of a workbook, each a list of its cells."""
    with a_folder(**{"data.xlsx": data}):
        book = open_workbook("data.xlsx")
        return [list(row.values()) for row in book.rows(next(iter(book.sheets)))]


def test_a_workbook_has_the_answers_of_the_same_table_in_csv(rng):
    frame = make_frame(rng, 80, kinds=[10, 20, 30, 40]).round(6)
    frame["remark"] = 'a;b,\n"c"'
    frame["id"] = [-7.0, 1e15, *map(float, range(78))]  # written without a point
    frame["x2"] = [f"{x}" if k % 2 else x for k, x in enumerate(frame["x2"])]
    columns = "--target", "kind", "--exclude", "id,remark"
    with a_folder():
        frame.to_csv("data.csv", index=False)
        written("data.xlsx", rows_with_names(frame), (3, 2), "Measurements of May")
        models, tables, reports = [], [], []
        for name in ("data.csv", "data.xlsx"):
            succeed("fit", name, *columns, "--out", "model.json")
            models.append(load("model.json").transformed_coef_)
            tables.append(rows_of(succeed("predict", "model.json", name, "-o", "-")))
            report = succeed("evaluate", "model.json", name, "--target", "kind")
            reports.append(report.replace(name, "data"))
        assert load("model.json").classes_.tolist() == [10, 20, 30, 40]
    np.testing.assert_array_equal(*models)
    assert reports[0] == reports[1]
    (head, *rows), (other_head, *others) = tables
    assert head == other_head
    assert [row[0] for row in others] == [f"{x:.0f}" for x in frame["id"]]
    assert [row[1:] for row in rows] == [row[1:] for row in others]


def test_cells_mean_what_excel_shows(rng):
    values = [0.1 + 0.2, 1e300, 5e-324, -7.0, 2.0**60, *rng.normal(size=35)]
    assert first_rows(content([values])) == [values]
    data = content(
        [
            ["text", True, False, None, ('t="str"', "a formula"), ('t="str"', "")],
            [("", "1.1000000000000001"), ('t="e"', "#DIV/0!"), ('s="0"', "3E2")],
            [('s="1"', "43832"), ('s="2"', "43832.5"), ('s="1"', "0.25")],
            [('s="3"', "2.125"), ('s="1"', "1e300"), "_x000D_\n_x005F_x000D_"],
        ]
    )
    assert first_rows(data) == [
        ["text", "true", "false", "a formula"],
        [1.1, "#DIV/0!", 300.0],
        ["2020-01-02", "2020-01-02 12:00:00", "6:00:00"],
        ["1900-01-01 03:00:00", 1e300, "\r\n_x000D_"],
    ]
    # Runs of text, how it is pronounced, another prefix, cells without a place.
    other = parts([["a"], [1.0, "b"]])
    other["xl/sharedStrings.xml"] = (
        "<x:sst xmlns:x='m'><x:si><x:r><x:t>a</x:t></x:r><x:r><x:t>c</x:t></x:r>"
        "<x:rPh><x:t>no</x:t></x:rPh></x:si><x:si><x:t>b</x:t></x:si></x:sst>"
    )
    sheet = "xl/worksheets/sheet1.xml"
    other[sheet] = other[sheet].replace('r="A2"', "").replace('r="B2"', "")
    assert first_rows(packed(other)) == [["ac"], [1.0, "b"]]


@pytest.mark.parametrize("since_1904", [False, True])
def test_dates_are_those_of_another_reader(rng, since_1904):
    days = [61, 25569, 2_900_000, *rng.integers(62, 60000, size=50)]
    days += [*np.round(rng.uniform(61, 60000, size=50) * 86400) / 86400]
    content = parts([[('s="2"', repr(float(day))) for day in days]])
    if since_1904:
        flag = '<workbookPr date1904="1"/><sheets>'
        book = content["xl/workbook.xml"]
        content["xl/workbook.xml"] = book.replace("<sheets>", flag)
    epoch = CALENDAR_MAC_1904 if since_1904 else CALENDAR_WINDOWS_1900
    texts = first_rows(packed(content))[0]
    for day, text in zip(days, texts, strict=True):
        expected = from_excel(float(day), epoch)
        assert isinstance(expected, datetime.datetime)
        assert datetime.datetime.fromisoformat(text) == expected


def test_sheets_and_their_notes(rng):
    table = rows_with_names(make_frame(rng, 40))
    notes = [["all about", "the data"], ["x0", "a length"]]
    marked = [*map(list, table), [], ["", None, ""]]
    marked[4][3] = "?"
    for data, said in [
        (content(notes, table), "the sheet 'Sheet2' was read, and not 'Sheet1'"),
        (content(table, table[:9]), "the sheet 'Sheet1' was read, and not 'Sheet2'"),
        (content([[None], [""]]), "data.xlsx is empty"),
        (content(table, state="hidden"), "data.xlsx is empty"),
        (content(marked), "'x2' (row 4: '?')"),
    ]:
        with a_folder(**{"data.xlsx": data}):
            result = invoke(FIT[0], "data.xlsx", *FIT[1:], "model.json")
        assert said in result.stderr


def hostile():
    """Contents of files, with a word of what is said about each."""
    table = [["x0", "kind"], *([float(k), "ab"[k % 2]] for k in range(20))]
    good = content(table)
    sheet, texts = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"

    def changed(part, old, new):
        whole = parts(table)
        assert old in whole[part]
        return packed(whole | {part: whole[part].replace(old, new, 1)})

    yield b"", "is not an Excel workbook"
    yield b"x0,kind\n1,a\n", "rename it to .csv"
    yield bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600), "a password"
    yield good[: len(good) // 2], "cannot be read as an Excel workbook"
    yield good[:200] + bytes(50) + good[250:], "cannot be read as an Excel workbook"
    yield packed({"mimetype": "application/vnd.oasis.opendocument"}), "save it as .xlsx"
    for part in sheet, texts, "xl/workbook.xml", "xl/styles.xml":
        rest = {name: text for name, text in parts(table).items() if name != part}
        yield packed(rest), f"no item named '{part}'"
    yield (
        changed("_rels/.rels", '/officeDocument"', '/other"'),
        "it lacks officeDocument",
    )
    yield changed(sheet, "<sheetData>", "<sheetData><row>"), "mismatched tag"
    bomb = '<!DOCTYPE a [<!ENTITY b "c">]><sst '
    yield changed(texts, "<sst ", bomb), "defines XML entities"
    yield changed(sheet, 'r="A2"', 'r="ZZZZ2"'), "no column is called 'ZZZZ'"
    yield changed(sheet, 'r="A2"', 'r="é2"'), "no column is called"
    yield changed(sheet, "<v>3</v>", "<v>3000</v>"), "no text number 3000"
    yield changed(sheet, "<v>3</v>", "<v>-1</v>"), "no text number -1"
    yield changed(texts, "x0", "x" * (1 << 20)), "far too much text"
    yield changed(sheet, "<sheetData>", f"<a{' ' * (1 << 23)}><sheetData>"), "a tag"
    many = "<c/>" * 17_000
    yield changed(sheet, "<sheetData>", f"<sheetData><row>{many}</row>"), "too many"
    # One long text in every cell: little room in the file, much in memory.
    long = parts([["x" * 32_000] + [('t="s"', "0")] * 2000])
    yield packed(long), "a row holds far too much text"


def test_hostile_workbooks_are_rejected_in_one_line():
    for data, said in hostile():
        with (
            a_folder(**{"data.xlsx": data}),
            pytest.raises(ValueError, match=f"(?s)^data.xlsx.*{said}") as caught,
        ):
            statistics_from_batches("data.xlsx", "kind")
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 300


def test_two_cells_far_apart_need_no_memory_between_them():
    far = parts([["x0", "kind"], [1.0, "a"]])
    sheet = "xl/worksheets/sheet1.xml"
    far[sheet] = far[sheet].replace('r="B2"', 'r="XFD1048576"')
    assert first_rows(packed(far)) == [["x0", "kind"], [1.0, "a"]]


def test_texts_that_fill_the_memory_are_rejected(monkeypatch):
    monkeypatch.setattr(excel, "_MAX_STRINGS", 1000)
    table = [["x0", "kind"], *([k, f"label{k % 2}"] for k in range(20))]
    with pytest.raises(ValueError, match="save it as CSV"):
        first_rows(content(table))
