"""C headers compile without a warning and decide as the classifiers do."""

import re
import shutil
import subprocess
from copy import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers.exported import (
    MODELS,
    SINGLE,
    certain,
    certain_if_transformed,
    data,
    errors_in_double,
    errors_in_single,
    fitted,
    random_rows,
    rows_for_transformed,
    scaled,
    transformed,
)
from heterolda import (
    BoundedErrorClassifier,
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
    LocalNeighborhoodSearch,
    SmoothedLinearDiscriminant,
)
from heterolda.export import export_c
from heterolda.export.c_text import label_table, number, string
from heterolda.export.rules import describe

N = 10_000
TYPES = {"float": np.float32, "double": np.float64}
STRICT = ["-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic"]
C99 = ["gcc", "-std=c99", "-O2"]
COMPILERS = [C99, ["gcc", "-std=gnu11", "-O3"], ["g++", "-x", "c++", "-std=c++11"]]

MAIN = """
#include "{header}"
#include <stdio.h>

int main(void)
{{
    {kind} x[{d}];
    while (fread(x, sizeof x, 1, stdin) == 1) {{
        int result = {name}_predict(x);
        fwrite(&result, sizeof result, 1, stdout);
    }}
    return 0;
}}
"""

for compiler in ("gcc", "g++", "size"):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed", allow_module_level=True)


def build(header, code, command=C99, extra=()):
    """Compile a program around a header and return a function that runs it."""
    d = int(re.search(r"_n_features = (\d+)", header.path.read_text())[1])
    source = header.path.with_suffix(".c")
    source.write_text(
        code.format(header=header.path.name, kind=header.dtype, d=d, name=header.name)
    )
    program = header.path.with_suffix(".out")
    subprocess.run([*command, *STRICT, "-o", program, source, *extra], check=True)
    return lambda rows: (
        subprocess.run(
            [program], input=np.ascontiguousarray(rows).tobytes(), stdout=-1, check=True
        ).stdout
    )


def places(header, rows, command=C99, extra=()):
    """What the predict function of a header returns for rows, cast to its type."""
    run = build(header, MAIN, command, extra)
    return np.frombuffer(run(rows.astype(TYPES[header.dtype])), dtype=np.intc)


def errors(model, X, header):
    if header.dtype == "float":
        return errors_in_single(model, X)
    return 2 * errors_in_double(model, X)


@pytest.mark.check
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", MODELS)
def test_labels_are_those_of_predict_beyond_rounding(name, dtype, tmp_path, rng):
    model = fitted(name)
    header = export_c(model, tmp_path / "model.h", dtype)
    X = random_rows(model, N, rng)
    place = places(header, X)
    later = 2.0**-53 if dtype == "double" else SINGLE
    clear = certain(model, X, errors(model, X, header), later)
    assert clear.mean() > (0.99 if dtype == "float" else 0.9999)
    label = model.classes_[place]
    np.testing.assert_array_equal(label[clear], model.predict(X[clear]))
    assert np.mean(label == model.predict(X)) > 0.999  # the bounds are pessimistic


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
    header = export_c(model, tmp_path / "ties.h", "double")
    label = model.classes_[places(header, grid, command)]
    np.testing.assert_array_equal(label, model.predict(grid))


@pytest.mark.parametrize("name", ["d1", "digits"])
def test_data_far_from_zero_lose_only_what_their_format_loses(name, tmp_path, rng):
    X, y = data(name)
    model = MODELS[name]().fit(X + 1e4, y)
    header = export_c(model, tmp_path / "far.h", "float")
    rows = random_rows(model, N, rng).astype(np.float32)
    exact = rows.astype(np.float64)
    clear = certain(model, exact, errors_in_single(model, exact, exact_rows=True))
    assert clear.mean() > 0.999
    label = model.classes_[places(header, rows)]
    np.testing.assert_array_equal(label[clear], model.predict(exact[clear]))


@pytest.mark.parametrize("dtype", TYPES)
def test_pipelines_of_projections_become_rules_on_features(dtype, tmp_path):
    X, y = data("four")
    frame = pd.DataFrame(X + 1e3).add_prefix("pixel ")
    projections = HeteroscedasticProjection(9), HeteroscedasticProjection(3)
    model = make_pipeline(*projections, GaussianLinearDiscriminant()).fit(frame, y)
    scores = model[:-1].transform(frame) @ model[-1].coef_.T + model[-1].intercept_
    rules = describe(model)
    found = frame.to_numpy() @ rules.coef.T + rules.intercept
    np.testing.assert_allclose(found, scores, rtol=1e-8, atol=1e-8)
    header = export_c(model, tmp_path / "four.h", dtype)
    place = places(header, frame.to_numpy())
    assert np.mean(model.classes_[place] == model.predict(frame)) > 0.995
    comment = header.path.read_text().partition("*/")[0]
    assert "64 features into 4 classes" in comment
    assert "pixel 63" in comment
    assert f"{model[-1].bayes_error_.max():.4g} at most" in " ".join(comment.split())


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("kind", "command"), list(zip([2, 4], COMPILERS, strict=False))
)
def test_transformed_features(kind, command, dtype, tmp_path, rng):
    model = transformed(kind)
    header = export_c(model, tmp_path / "model.h", dtype)
    X = rows_for_transformed(model, 2000, rng).astype(TYPES[dtype])
    exact = X.astype(np.float64)
    place = places(header, X, command, ["-lm"])
    clear = certain_if_transformed(model, exact, 1e-4 if dtype == "float" else 1e-11)
    assert clear.mean() > 0.95
    np.testing.assert_array_equal(
        model.classes_[place[clear]], model.predict(exact[clear])
    )
    bad = np.repeat(X[2:3], 3, axis=0)
    bad[[0, 1, 2], [0, 2, 4]] = np.inf, -np.inf, np.nan
    assert (places(header, bad, command, ["-lm"]) == -1).all()
    text = header.path.read_text()
    assert "#include <math.h>" in text
    assert "link with -lm" in text.partition("*/")[0]
    assert header.multiplications >= model.coef_.size + 15


def test_transformed_features_that_no_header_can_hold(tmp_path, rng):
    model = transformed(4)
    small = copy(model)
    given = model.transformation_
    small.transformation_ = replace(given, scale=given.scale * 1e-42)
    with pytest.raises(ValueError, match="use dtype='double'"):
        export_c(small, tmp_path / "model.h")
    y = np.arange(240) % 4
    X = np.exp(rng.normal(size=(240, 5)) + y[:, None])
    last = SmoothedLinearDiscriminant(0.5)
    pipeline = make_pipeline(HeteroscedasticProjection(2), last)
    pipeline.fit(X, y)
    with pytest.raises(ValueError, match="model transforms components"):
        export_c(pipeline, tmp_path / "model.h")
    assert not list(tmp_path.iterdir())


def test_ten_thousand_features(tmp_path):
    rng = np.random.default_rng(0)
    d, y = 10_000, np.arange(20) % 2
    X = rng.normal(size=(20, d)) + 0.5 * y[:, None] * (np.arange(d) < 99) + 50
    model = GaussianLinearDiscriminant().fit(X, y)
    rows = rng.normal(size=(20, d)) + 50
    for dtype in TYPES:
        header = export_c(model, tmp_path / f"{dtype}.h", dtype)
        assert header.path.stat().st_size < 1_000_000
        assert header.multiplications == d
        assert np.array_equal(places(header, rows), model.predict(rows))
        # No row is kept on the stack, which may be smaller.
        assert f"[{d}];" not in header.path.read_text()


def test_a_bounded_discriminant_decides_ties_for_the_bounded_class(tmp_path, rng):
    X, y = rng.integers(0, 4, (600, 2)) / 10, np.repeat(["ill", "well"], 300)
    X[y == "well"] += 0.1
    model = BoundedErrorClassifier(max_error={"ill": 0.1}).fit(X, y)
    for dtype in TYPES:
        header = export_c(model, tmp_path / f"{dtype}.h", dtype)
        place = places(header, X)
        np.testing.assert_array_equal(model.classes_[place], model.predict(X))
    assert 0 < place.mean() < 1
    comment = header.path.read_text().partition("*/")[0]
    assert "Bound:           at most 10.0 % of ill are wrong on new rows" in comment


def test_exactly_tied_votes_are_decided_by_scores(tmp_path, rng):
    model = fitted("digits-majority")
    X = random_rows(model, N, rng)
    votes = np.sort(model._committee.votes(X @ model.coef_.T + model.intercept_))
    X = X[votes[:, -1] == votes[:, -2]]
    assert len(X) > 20
    for dtype in TYPES:
        header = export_c(model, tmp_path / "model.h", dtype)
        clear = certain(model, X, errors(model, X, header))
        assert clear.mean() > 0.9
        label = model.classes_[places(header, X)]
        np.testing.assert_array_equal(label[clear], model.predict(X[clear]))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ["d1", "digits", "digits-ova", "digits-coupled"])
def test_rows_that_are_not_finite_have_no_class(name, dtype, tmp_path):
    header = export_c(fitted(name), tmp_path / "model.h", dtype)
    X, _ = data(name.partition("-")[0])
    rows = np.repeat(X[:1], 5, axis=0)
    rows[1, 2], rows[2, 0], rows[3, -1] = np.nan, np.inf, -np.inf
    for command in C99, ["g++", "-x", "c++", "-std=c++11", "-O3"]:
        place = places(header, rows, command)
        assert place[1:4].tolist() == [-1, -1, -1]
        assert place[0] == place[4] >= 0


@pytest.mark.parametrize("dtype", TYPES)
def test_rows_with_gaps_have_no_class_and_models_of_fewer_features_have(
    dtype, tmp_path, make_classes
):
    X, y = make_classes(4)
    gaps = X.copy()
    gaps[::3, 1] = np.nan
    model = GaussianLinearDiscriminant(missing="em").fit(gaps, y)
    header = export_c(model, tmp_path / "model.h", dtype)
    comment = " ".join(header.path.read_text().partition("*/")[0].split())
    assert "missing values, and this does not" in comment
    assert "model.for_features(...)" in comment
    place = places(header, gaps)
    lost = np.isnan(gaps).any(axis=1)
    assert (place[lost] == -1).all()
    assert (place[~lost] >= 0).all()
    # For a device without the feature.
    there = np.array([True, False, True])
    few, rows = model.for_features(there), gaps[lost][:, there]
    header = export_c(few, tmp_path / "few.h", dtype)
    clear = certain(few, rows, errors(few, rows, header))
    assert clear.mean() > 0.9
    label = model.classes_[places(header, rows)]
    np.testing.assert_array_equal(label[clear], model.predict(gaps[lost])[clear])


@pytest.mark.parametrize("dtype", TYPES)
def test_scores_next_to_none_still_decide_one_vs_all(dtype, tmp_path, rng):
    model = scaled("digits-ova", 1e-14)
    X = random_rows(model, 2000, rng)
    header = export_c(model, tmp_path / "model.h", dtype)
    sure = np.abs(X @ model.coef_.T + model.intercept_) > errors(model, X, header)
    positive = X @ model.coef_.T + model.intercept_ > 0
    several = sure.all(axis=1) & (positive.sum(axis=1) > 1)
    assert several.sum() > 10
    place = places(header, X[several])
    assert positive[several][np.arange(several.sum()), place].all()


HOSTILE = [
    *("*/ int x = 1; /*", "a\nb\r\n#error", "??/", "????=", "tail\\", "\\", '"', "%s"),
    *("naïve", "日本", "\U0001f600", "\x01\x7f", "*", "/", "//", "a\u2028b", "end *"),
]


def test_hostile_names_of_features_and_classes(tmp_path, rng):
    n, k = 40 * len(HOSTILE), len(HOSTILE)
    y = np.arange(n) % k
    X = rng.normal(size=(n, k)) + 3 * np.eye(k)[y]
    frame = pd.DataFrame(X, columns=HOSTILE)
    model = GaussianLinearDiscriminant(shrinkage=0.5).fit(frame, np.array(HOSTILE)[y])
    header = export_c(model, tmp_path / "hostile.h", "float")
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


@pytest.mark.parametrize("labels", [["a", "b"], [3, 7], [0, 2**64 - 1], [0.0, 1.0]])
def test_the_usage_compiles_and_prints_a_label(labels, tmp_path, make_classes):
    X, y = make_classes(2)
    kind = "u8" if 2**64 - 1 in labels else None
    model = GaussianLinearDiscriminant().fit(X, np.array(labels, dtype=kind)[y])
    header = export_c(model, tmp_path / "iris.h")
    include, *body = header.usage
    assert len(body) == 4
    code = ["#include <stdio.h>", include, "int main(void) {", *body, "return 0; }"]
    source = tmp_path / "use.c"
    source.write_text("\n".join(code))
    subprocess.run([*C99, *STRICT, "-o", tmp_path / "use", source], check=True)
    shown = subprocess.run([tmp_path / "use"], capture_output=True, text=True)
    (expected,) = model.predict(np.zeros((1, 3)))
    assert shown.stdout == f"{int(expected) if labels[0] == 0 else expected}\n"


def test_the_comment_says_what_decided_each_pair(tmp_path, make_classes):
    X, y = make_classes(4)
    model = GaussianLinearDiscriminant().fit(X, y)
    model.guarded_ = np.arange(6) == 4
    model.trivial_ = np.arange(6) == 5
    comment = export_c(model, tmp_path / "m.h").path.read_text().partition("*/")[0]
    for line in [
        "Rules:           global, all pairs but those below",
        "Rules:           Fisher's, taken by the guard, 1 of 6 pairs: 1 and 3",
        "Rules:           always the likelier class, 1 of 6 pairs: 2 and 3",
    ]:
        assert line in comment


def test_texts_and_numbers():
    assert string('a"?1') == '"a\\042\\0771"'
    for bad in ("a\0b", "x" * 5000, "\ud800"):
        with pytest.raises(ValueError, match="label"):
            string(bad)
    for value in (0.1, -1e-320, 1e308, -0.0, 2.0**60):
        assert float(number(value)) == value
    for value in np.array([0.1, -1e-40, 3e38, -0.0, 2.0**60], dtype=np.float32):
        assert np.float32(number(value).removesuffix("f")) == value
    assert number(-(2**63)) == "(-9223372036854775807 - 1)"


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([-(2**31), 5, 2**31 - 1], "int32_t"),
        ([-(2**63), 5, 2**63 - 1], "int64_t"),
        (np.array([1, 2**63, 2**64 - 1], dtype=np.uint64), "uint64_t"),
        ([False, True], "int32_t"),
        ([-0.5, 1e300], "double"),
    ],
)
def test_tables_of_labels(labels, kind, tmp_path):
    values = np.asarray(labels)
    form = {"double": "%.17g", "uint64_t": "%llu"}.get(kind, "%lld")
    cast = {"double": "double", "uint64_t": "unsigned long long"}.get(kind, "long long")
    source = tmp_path / "labels.c"
    source.write_text(
        "#include <stdint.h>\n#include <stdio.h>\n"
        + label_table("it", values)
        + f"int main(void) {{ int i; for (i = 0; i < {len(values)}; i++) "
        f'printf("{form} ", ({cast})it[i]); return 0; }}\n'
    )
    assert f"static const {kind} it[" in source.read_text()
    program = tmp_path / "labels"
    subprocess.run([*C99, *STRICT, "-o", program, source], check=True)
    shown = subprocess.run([program], capture_output=True, text=True, check=True)
    read = float if kind == "double" else int
    assert [read(word) for word in shown.stdout.split()] == [read(v) for v in values]


def test_labels_of_mixed_types_are_refused():
    with pytest.raises(ValueError, match="neither all strings nor all numbers"):
        label_table("it", np.array(["a", 1], dtype=object))


@pytest.mark.parametrize("dtype", TYPES)
def test_the_exponential_function(dtype, tmp_path):
    header = export_c(fitted("digits-coupled"), tmp_path / "model.h", dtype)
    x = np.linspace(-80, 80, 20001).astype(TYPES[dtype])
    code = MAIN.replace("[{d}]", "[1]").replace("int result", "{kind} result")
    result = build(header, code.replace("_predict(x)", "_exp(x[0])"))(x)
    ours = np.frombuffer(result, dtype=TYPES[dtype])
    assert np.abs(ours / np.exp(x.astype(float)) - 1).max() < (
        2e-6 if dtype == "float" else 4e-15
    )


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ["d1", "digits", "digits-ova", "digits-coupled"])
def test_size_and_cost_are_as_said(name, dtype, tmp_path):
    model = fitted(name)
    header = export_c(model, tmp_path / "model.h", dtype)
    source = tmp_path / "one.c"
    source.write_text(
        f'#include "model.h"\nint f(const {dtype} *x);\n'
        f"int f(const {dtype} *x) {{ return model_predict(x); }}\n"
    )
    object_file = tmp_path / "one.o"
    command = ["gcc", "-std=c99", "-Os", *STRICT, "-c", "-o", object_file, source]
    subprocess.run(command, check=True)
    shown = subprocess.run(["size", object_file], capture_output=True, text=True)
    text, rest, bss = map(int, shown.stdout.splitlines()[1].split()[:3])
    assert rest == bss == 0  # nothing in memory that can be written
    assert header.constant_bytes < text < header.constant_bytes + 1500
    n_rules, d = model.coef_.shape
    each = np.dtype(TYPES[dtype]).itemsize
    assert header.constant_bytes >= n_rules * (d + 1) * each
    assert header.multiplications >= n_rules * d
    comment = header.path.read_text().partition("*/")[0]
    assert f"{header.constant_bytes} bytes" in comment
    assert f"{header.multiplications} for a decision" in comment


@pytest.mark.parametrize(
    "name", ["", "2a", "a-b", "a b", "a__b", "a_", "_a", "é", "a\n", "a" * 41, "a;b"]
)
def test_names_that_c_does_not_take_are_refused(name, tmp_path):
    with pytest.raises(ValueError, match="cannot be a prefix in C"):
        export_c(fitted("d1"), tmp_path / "model.h", name=name)
    assert not list(tmp_path.iterdir())
    if name.strip():
        found = export_c(fitted("d1"), tmp_path / f"{name.strip()}.h").name
        assert export_c(fitted("d1"), tmp_path / "model.h", name=found).name == found


def test_wrong_arguments_are_refused(tmp_path, make_classes):
    model, path = fitted("d1"), tmp_path / "model.h"
    X, y = make_classes()
    with pytest.raises(ValueError, match="dtype must be 'float' or 'double'"):
        export_c(model, path, "float64")
    projection = HeteroscedasticProjection().fit(X, y)
    for wrong in (projection, make_pipeline(projection)):
        with pytest.raises(TypeError, match="the first three, got Heteroscedastic"):
            export_c(wrong, path)
    with pytest.raises(TypeError, match=r"step 'standardscaler'.*by to_onnx"):
        export_c(make_pipeline(StandardScaler(), model), path)
    with pytest.raises(ValueError, match="not fitted"):
        export_c(GaussianLinearDiscriminant(), path)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        export_c(model, tmp_path / "no" / "model.h")
    tiny = GaussianLinearDiscriminant().fit(X * 1e-45, y)
    with pytest.raises(ValueError, match="range of single precision"):
        export_c(tiny, path)
    assert not path.exists()
    place = places(export_c(tiny, path, "double"), X * 1e-45)
    np.testing.assert_array_equal(tiny.classes_[place], tiny.predict(X * 1e-45))
