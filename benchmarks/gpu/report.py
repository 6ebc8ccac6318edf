"""The page docs/benchmarks_gpu.md, made from the results of a run."""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks.gpu.measuring import Entry
from benchmarks.pages import (
    GREY,
    OURS,
    PEER,
    bars,
    canvas,
    compose,
    figure,
    median_time,
    png,
    section,
    spread,
)
from benchmarks.report import shown

Record = dict[str, Any]

PICTURE = (
    "![Times to fit on the GPU and elsewhere: milliseconds on the GPU, seconds on the "
    "processors](images/benchmarks_gpu.png)"
)
TABLES = {
    "fit": (
        "Fit",
        "Our time beside that of `X.T @ X` in the same precision, the least that class "
        "covariances can cost. *Fit* is `GaussianLinearDiscriminant().fit(X, y)` with "
        "its defaults, the guard included; *statistics* is "
        "`ClassStatistics.from_data(X, y)` alone. *Memory* is the peak of all arrays "
        "on the device, X and y included, over the bytes of X and y.",
    ),
    "LDA": (
        "Beside scikit-learn's LDA on the same GPU",
        "`LinearDiscriminantAnalysis()` with `array_api_dispatch=True`; it has the "
        'solver "svd", the only one that accepts such arrays. With ten million rows '
        "it was tried once, in a process of its own.",
    ),
    "processors": (
        "Beside this library on the processors of the same machine",
        "The peer has the same rows in NumPy.",
    ),
    "predict": (
        "Prediction",
        "Our time beside reading the rows once by `X.sum()`. Ten classes have 45 "
        "rules.",
    ),
    "small": (
        "Small data",
        "The peer makes the same calls with the same rows in NumPy. A GPU needs "
        "microseconds for each operation, however small.",
    ),
    "failed": ("Not measured", ""),
}
HEAD = "data|library|ours|peer|our time|peer's|ratio|quartiles|turns|memory|remark"
ONCE = "library", "peer", "turns"
# Bars of the picture: label, entry, whose time, and colour.
BARS = (
    ("10 million rows:\nX.T @ X, GPU", "fit, float64", "peer", GREY),
    ("GLD, GPU", "fit, float64", "ours", OURS),
    ("GLD, processors", "processors, float64", "peer", PEER),
    ("1 million rows:\nGLD, GPU", "LDA, float64", "ours", OURS),
    ("LDA, GPU", "LDA, float64", "peer", "#e8a33d"),
    ("1,000 rows:\nGLD, GPU", "small, fit", "ours", OURS),
    ("GLD, processors ", "small, fit", "peer", PEER),
)


def page(record: Record) -> str:
    """The whole page."""
    entries = record["entries"]
    tables = [
        section(title, about, HEAD, [_row(e) for e in mine], ONCE)
        for name, (title, about) in TABLES.items()
        if (mine := [e for e in entries if e["table"] == name])
    ]
    return compose(
        "On a GPU",
        _opening(record),
        [_more(entries), *tables],
        _protocol(record["about"]),
        _goals(entries),
        PICTURE if _timed(entries) else "",
    )


def draw(record: Record) -> bytes:
    """The picture: times to fit, on a logarithmic scale, as PNG."""
    timed = _timed(record["entries"])
    found = {
        label: (median(timed[key][f"{side}_seconds"]), key, side, colour)
        for label, key, side, colour in BARS
        if key in timed
    }
    drawn, panels = canvas(1.0 + 0.42 * max(len(found), 1))
    panel = panels[0, 0]
    if found:
        bars(
            panel,
            {
                label: (1e3 * t, median_time(timed[key], f"{side}_seconds"), colour)
                for label, (t, key, side, colour) in found.items()
            },
        )
        longest = max(1e3 * one[0] for one in found.values())
        panel.set(xscale="log", xlim=(0.5, 12 * longest))
    panel.set_xlabel("milliseconds to fit, float64 (logarithmic scale)")
    return png(drawn)


def _timed(entries: list[Entry]) -> dict[str, Entry]:
    """What has times, by its name without the library; the first library counts."""
    known = {e["key"].rpartition(", ")[0]: e for e in reversed(entries)}
    return {key: e for key, e in known.items() if "ratio" in e}


def _device(here: Record) -> str:
    name = here["device"]
    return name if name == "the processor" else f"an {name}"


def _row(e: Entry) -> tuple[str, ...]:
    failure = _kind(e["error"]) if "error" in e else None
    if failure is None and "peer_error" in e:
        failure = f"the peer fails: {_kind(e['peer_error'])}"
    return (
        e.get("data", e["key"]),
        e["library"],
        e.get("ours", ""),
        shown(e.get("peer", "")),
        median_time(e, "ours_seconds"),
        median_time(e, "peer_seconds"),
        figure(e.get("ratio")),
        spread(e.get("quartiles")),
        str(len(e["ours_seconds"])) if "ours_seconds" in e else "",
        figure(e.get("memory")),
        _escaped(failure or e["remark"]),
    )


def _kind(error: str) -> str:
    """A message without what follows its first sentence."""
    return error.partition(". ")[0].partition(", when calling ")[0]


def _escaped(text: str) -> str:
    """Text of others in a cell of a table."""
    for mark in "\\`*_[]<>|$":
        text = text.replace(mark, "\\" + mark)
    return text


def _goals(entries: list[Entry]) -> str:
    """How many are met, and which are not; what raises has not met its own."""
    judged = [(_name(e), e["met"]) for e in entries if e.get("met") is not None]
    judged += [
        (f"{_name(e)}, memory", e["memory_met"])
        for e in entries
        if e.get("memory_met") is not None
    ]
    aims = {_name(e): e.get("goal") or figure(e.get("target")) for e in entries}
    failed = [
        _name(e)
        for e in entries
        if (e.get("target") or e.get("goal")) and e.get("met") is None
    ]
    missed = [name for name, met in judged if not met]
    total = len(judged) + len(failed)
    lines = [f"{len(judged) - len(missed)} of {total} goals are met."]
    lines += ["Not met, with the ratio, or time, that we aimed at:", ""] * bool(missed)
    lines += [
        f"- {name}: goal {aims[name]}" if name in aims else f"- {name}"
        for name in missed
    ]
    lines += ["", "Not measured:", ""] * bool(failed)
    lines += [f"- {name}" for name in failed]
    return "\n".join(lines)


def _name(e: Entry) -> str:
    against = f" against {shown(e['peer'])}" if e.get("peer") else ""
    return f"{e.get('ours', e['key'])}{against}, {e.get('data', '')}, {e['library']}"


def _opening(record: Record) -> list[str]:
    """What it means for a user, of what there is."""
    timed = _timed(record["entries"])
    known = {e["key"].rpartition(", ")[0]: e for e in record["entries"]}
    sentences = [
        "What a GPU gains: fits and predictions of `heterolda` with arrays "
        f"of PyTorch and CuPy, on {_device(record['about'])}, beside the same calls on "
        "the processors and scikit-learn's LDA on the same GPU. **It pays with "
        "millions of rows, best if they are on the GPU already; with a thousand it "
        "does not.**"
    ]
    if (e := timed.get("processors, float64")) and (fit := timed.get("fit, float64")):
        sentences.append(
            f"A fit to {fit['data']} takes {median_time(fit, 'ours_seconds')}; on the "
            f"processors of the same machine it takes {figure(1 / e['ratio'])} times "
            "as long."
        )
    if e := timed.get("LDA, float64"):
        sentences.append(
            f"LDA on the GPU takes {figure(1 / e['ratio'])} times as long as ours "
            f"({e['data']})"
            + (
                f", and fails with {large['data']}."
                if (large := known.get("large LDA, float64")) and "error" in large
                else "."
            )
        )
    small = [timed[k] for k in ("small, fit", "small, predict") if k in timed]
    if len(small) == 2:
        fit, predict = small
        sentences.append(
            f"**Leave small data in NumPy**: with {fit['data']} a fit takes "
            f"{figure(fit['ratio'])} times as long on the GPU as without it, and a "
            f"prediction {figure(predict['ratio'])} times."
        )
    opening = [" ".join(sentences)]
    if not all(e["full_size"] for e in record["entries"]):
        opening.append("**A smoke run**: tiny data, without a GPU. Ignore its figures.")
    return opening


def _more(entries: list[Entry]) -> str:
    """What else is worth knowing."""
    timed, lines = _timed(entries), []
    if (e := timed.get("statistics, float64")) and (fit := timed.get("fit, float64")):
        rest = 1e3 * (median(fit["ours_seconds"]) - median(e["ours_seconds"]))
        lines.append(
            f"- A fit takes {figure(fit['ratio'])} times as long as the bare product "
            f"`X.T @ X` ({fit['data']}). The class statistics take "
            f"{median_time(e, 'ours_seconds')}, the guard and the pairs of classes the "
            f"other {rest:.1f} ms: many small steps, however many rows there are."
        )
    if e := timed.get("huge fit"):
        memory = f", and {figure(e['memory'])} times the data" if "memory" in e else ""
        lines.append(
            f"- A fit to {e['data']} takes {median_time(e, 'ours_seconds')}{memory}."
        )
    for k in (2, 10):
        if e := timed.get(f"predict, {k} classes, float64"):
            lines.append(
                f"- `predict` with {k} classes takes {figure(e['ratio'])} times as "
                f"long as reading the rows ({e['data']})."
            )
    return "\n".join(["## In short", "", *lines]) if lines else ""


def _protocol(here: Record) -> list[str]:
    libraries = here["libraries"] | {
        name: here[name] for name in ("torch", "CUDA", "cupy") if name in here
    }
    versions = ", ".join(f"{k} {v}" for k, v in libraries.items())
    return [
        f"Made by `{here['command']}`; run it again instead of editing the page.",
        f"**Machine**: {_device(here)}, {here['processors']} processors "
        f"({here['architecture']}); Python {here['python']}, heterolda "
        f"{here['heterolda']}, {versions}; loops: {here['kernels']}. "
        f"Measured on {here['date']}, in {here['seconds']} s.",
        "**Data**: Gaussian classes of unequal means and variances, made on the "
        "device; labels are int64. Products in float32 are not rounded "
        "further (no TF32).",
        "**Times**: our call and the peer's take turns, after up to two uncounted "
        "ones, and the device is waited for before and after each. Times are medians. "
        "A ratio is our time over the peer's, the median over the turns, with "
        "quartiles; below 1 means that ours is faster. Calls of seconds have few "
        "turns.",
    ]
