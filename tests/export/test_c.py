"""C headers compile without a warning, and say what they hold."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers.exported import C99, build, fitted, places_in_c
from heterolda import (
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
    LocalNeighborhoodSearch,
    to_c,
)
from heterolda.export.c_text import label_table, number, string

COMPILERS = [C99, ["gcc", "-std=gnu11", "-O3"], ["g++", "-x", "c++", "-std=c++11"]]


@pytest.mark.parametrize("command", COMPILERS, ids=lambda command: " ".join(command))
def test_double_settles_ties_of_a_search_as_predict_does(command, tmp_path):
    """Rows on the threshold but for rounding: the order of the sum decides them.

    Compilers that fuse products and sums would decide some of them otherwise.
    """
    grid = np.stack(np.meshgrid(*[np.arange(-4.0, 5.0)] * 3), axis=-1).reshape(-1, 3)
    X = grid[grid.sum(axis=1) != 0]
    model = LocalNeighborhoodSearch(max_iter=2).fit(X, X.sum(axis=1) > 0)
    model.coef_ = np.array([[0.1, 0.2, -0.3]])
    model.intercept_ = np.array([0.1])
    ties = np.isclose(grid @ model.coef_[0] + model.intercept_, 0, atol=1e-14)
    assert set(model.predict(grid[ties])) == {False, True}
    header = to_c(model, tmp_path / "ties.h", "double")
    label = model.classes_[places_in_c(header, grid, command)]
    np.testing.assert_array_equal(label, model.predict(grid))


HOSTILE = [
    *("*/ int x = 1; /*", "a\nb\r\n#error", "??/", "????=", "tail\\", "\\", '"1', "%s"),
    *("naïve", "日本", "\U0001f600", "\x01\x7f", "*", "/", "//", "a\u2028b", "end *"),
]


def test_hostile_names_of_features_and_classes(tmp_path, rng):
    n, k = 40 * len(HOSTILE), len(HOSTILE)
    y = np.arange(n) % k
    X = rng.normal(size=(n, k)) + 3 * np.eye(k)[y]
    frame = pd.DataFrame(X, columns=HOSTILE)
    model = GaussianLinearDiscriminant(shrinkage=0.5).fit(frame, np.array(HOSTILE)[y])
    model.chosen_on_rows_ = np.arange(len(model.pairs_)) % 2 == 0  # and pairs
    header = to_c(model, tmp_path / "hostile.h", "float")
    assert header.path.read_bytes().isascii()
    show = (
        '#include "{header}"\n#include <stdio.h>\n'
        "int main(void)\n{{\n    int k;\n"
        "    for (k = 0; k < {name}_n_classes; k++)\n"
        "        puts({name}_classes[k]);\n    return 0;\n}}\n"
    )
    for command in COMPILERS:
        shown = build(header, show, command, extra=["-trigraphs"])(X)
        assert shown.decode() == "".join(f"{it}\n" for it in model.classes_)


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["a", "b"], "const char *"),
        ([1 - 2**31, 2**31 - 1], "int32_t"),
        ([0, 2**31], "int64_t"),
        ([1 - 2**63, 2**63 - 1], "int64_t"),
        ([-4.0, 1234567.0], "double"),
    ],
)
def test_the_usage_compiles_and_prints_labels(labels, kind, tmp_path, make_classes):
    X, y = make_classes(2)
    model = GaussianLinearDiscriminant().fit(X, np.asarray(labels)[y])
    header = to_c(model, tmp_path / "iris.h")
    assert header.label_type == kind
    include, *body = header.usage
    # The first class for the row of zeros, then the others.
    body = "\n".join(body).replace("{0}", "{{0}}")
    body = body.replace("iris_predict(x)", "i + 0 * iris_predict(x)")
    loop = f"for (int i = 0; i < 2; i++) {{{{\n{body}\n}}}}\nreturn 0;"
    code = f"#include <stdio.h>\n{include}\nint main(void) {{{{\n{loop}\n}}}}\n"
    read = {"const char *": str, "double": float}.get(kind, int)
    shown = build(header, code)(b"").decode().split()
    assert [*map(read, shown)] == model.classes_.tolist()


def test_the_header_says_what_decided_each_pair(tmp_path, make_classes):
    model = GaussianLinearDiscriminant().fit(*make_classes(4))
    model.chosen_on_rows_, model.trivial_ = np.arange(6) == 1, np.arange(6) == 5
    text = to_c(model, tmp_path / "model.h").path.read_text()
    text = " ".join(text.replace("\n *", " ").split())
    for words in (
        "Rules: global, all pairs except those below",
        "Rules: on the curve of optimal rules, chosen by left-out rows, 1 of 6 pairs: "
        "0 and 2",
        "Rules: always the likelier class, 1 of 6 pairs: 2 and 3",
    ):
        assert words in text


def test_texts_and_numbers():
    for bad in ("a\0b", "\ud800"):
        with pytest.raises(ValueError, match="label"):
            string(bad)
    for value in (0.1, -1e-320, 1e308, -0.0, 2.0**60):
        assert float(number(value)) == value
        single = np.float32(min(value, 3e38))
        assert np.float32(number(single).removesuffix("f")) == single
    for wrong in np.array(["a", 1], dtype=object), np.array([1, 2**63], dtype="u8"):
        with pytest.raises(ValueError, match="neither all strings nor all numbers"):
            label_table("it", wrong)


def test_wrong_arguments_are_rejected(tmp_path, make_classes):
    model, path = fitted("d1"), tmp_path / "model.h"
    projection = HeteroscedasticProjection().fit(*make_classes())
    with pytest.raises(ValueError, match="dtype must be 'float' or 'double'"):
        to_c(model, path, "float64")
    for wrong in (projection, make_pipeline(projection)):
        with pytest.raises(TypeError, match="the first three, got Heteroscedastic"):
            to_c(wrong, path)
    with pytest.raises(TypeError, match=r"step 'standardscaler'.*by to_onnx"):
        to_c(make_pipeline(StandardScaler(), model), path)
    for name in ("", "2a", "a b", "a__b", "a_", "_a", "é", "a\n", "a" * 41, "a;b"):
        with pytest.raises(ValueError, match="cannot be a prefix in C"):
            to_c(model, path, name=name)
    assert not path.exists()
    for name in ("2a", "a b", "a__b", "é", "a" * 41, "a;b"):
        prefix = to_c(model, tmp_path / f"{name}.h").name
        assert to_c(model, path, name=prefix).name == prefix
