"""The page docs/benchmarks_gpu.md, made from the results of a run."""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks.gpu.measuring import Entry
from benchmarks.report import figure, median_time, section, spread, verdict

Record = dict[str, Any]

TABLES = {
    "fit": (
        "Fit",
        "Our time over that of `X.T @ X` in the same precision, which reads the rows "
        "and multiplies each with itself: what class covariances cost at least. *Fit* "
        "is `GaussianLinearDiscriminant().fit(X, y)` with its defaults, the guard "
        "included; *statistics* are `ClassStatistics.from_data(X, y)` alone. *Memory* "
        "is the most that arrays took on the device, X and y included, over the bytes "
        "of X and y.",
    ),
    "LDA": (
        "Beside scikit-learn's LDA on the same GPU",
        "`LinearDiscriminantAnalysis()` with `array_api_dispatch=True`; its solver is "
        '"svd", the only one that takes such arrays. With the number of rows of the '
        "first table it runs once, last, in a process of its own, and the table says "
        "what comes of it.",
    ),
    "processors": (
        "Beside this library on the processors of the same machine",
        "The peer has the same rows in NumPy. *Statistics from batches* have their "
        "rows in the memory of the host, too, and copy them to the GPU in batches "
        "(`statistics_from_batches(X, y, device=...)`): what rows larger than the "
        "memory of the GPU cost.",
    ),
    "search": (
        "Algorithm 2",
        "An iteration of `LocalNeighborhoodSearch`, over reading the rows once by "
        "`X.sum()`; it evaluates every neighbour of the rule on all rows. It is the "
        "difference between a long and a short search, divided by that of their "
        "iterations; the target is in milliseconds. The small problems are searched "
        "in NumPy and on the device; *the same counts* are those of all iterations.",
    ),
    "predict": (
        "Prediction",
        "Our time over reading the rows once by `X.sum()`. Ten classes have 45 rules.",
    ),
    "small": (
        "Small data",
        "The same calls with the same rows in NumPy. A GPU needs microseconds for each "
        "operation, however small.",
    ),
    "failed": ("Not measured", ""),
}
HEAD = (
    "data|library|ours|peer|our time|peer's|ratio|quartiles|turns|target|verdict|"
    "memory|memory's target|memory's verdict|remark"
)


def page(record: Record) -> str:
    """The whole page."""
    entries = record["entries"]
    parts = [_head(record), _summary(entries), _targets(entries)]
    for name, (title, about) in TABLES.items():
        mine = [e for e in entries if e["table"] == name]
        if mine:
            parts.append(section(title, about, HEAD, [_row(e) for e in mine]))
    return "\n".join([*parts, _protocol(record["about"])])


def _head(record: Record) -> str:
    here = record["about"]
    lines = [
        "# Benchmarks on a GPU",
        "",
        f"Made by `{here['command']}`; do not edit. Every figure is a ratio of our "
        "time to that of a named peer in the same run; below 1 means that we are "
        f"faster. The device is {_device(here)}.",
        "",
    ]
    if not all(e["full_size"] for e in record["entries"]):
        lines += [
            "**A smoke run**: tiny data, without a GPU. Figures mean nothing.",
            "",
        ]
    return "\n".join(lines)


def _device(here: Record) -> str:
    name = here["device"]
    return name if name == "the processor" else f"an {name}"


def _row(e: Entry) -> tuple[str, ...]:
    failure = e.get("error")
    if failure is None and "peer_error" in e:
        failure = f"the peer fails: {e['peer_error']}"
    memory = {"met": e.get("memory_met"), "full_size": e["full_size"]}
    return (
        e.get("data", e["key"]),
        e["library"],
        e.get("ours", ""),
        e.get("peer", ""),
        median_time(e, "ours_seconds"),
        median_time(e, "peer_seconds"),
        figure(e.get("ratio")),
        spread(e.get("quartiles")),
        str(len(e["ours_seconds"])) if "ours_seconds" in e else "",
        e.get("goal") or figure(e.get("target")),
        verdict(e),
        figure(e.get("memory")),
        figure(e.get("memory_target")),
        verdict(memory),
        _escaped(failure or _remark(e)),
    )


def _remark(e: Entry) -> str:
    if "bytes" not in e:
        return e["remark"]
    return f"{e['bytes'] / median(e['ours_seconds']) / 1e9:.2g} GB/s"


def _escaped(text: str) -> str:
    """Text of others in a cell of a table."""
    for mark in "\\`*_[]<>|$":
        text = text.replace(mark, "\\" + mark)
    return text


def _targets(entries: list[Entry]) -> str:
    """How many targets are met, and which are not; what raises has not met its own."""
    judged = [(_name(e), e["met"]) for e in entries if e.get("met") is not None]
    judged += [
        (f"{_name(e)}, memory", e["memory_met"])
        for e in entries
        if e.get("memory_met") is not None
    ]
    failed = [
        _name(e)
        for e in entries
        if (e.get("target") or e.get("goal")) and e.get("met") is None
    ]
    missed = [name for name, met in judged if not met]
    lines = [
        "## Targets",
        "",
        f"{len(judged) - len(missed)} of {len(judged) + len(failed)} targets are met.",
        "",
    ]
    lines += [f"- **Not met**: {name}" for name in missed]
    lines += [f"- **Not measured**: {name}" for name in failed]
    return "\n".join([*lines, ""] if missed or failed else lines)


def _name(e: Entry) -> str:
    against = f" against {e['peer']}" if e.get("peer") else ""
    return f"{e.get('ours', e['key'])}{against}, {e.get('data', '')}, {e['library']}"


def _summary(entries: list[Entry]) -> str:
    """What it means for a user, of what there is."""
    known = {e["key"].rpartition(", ")[0]: e for e in reversed(entries)}
    timed = {key: e for key, e in known.items() if "ratio" in e}
    lines = []
    for key in ("fit, float64", "fit, float32", "huge fit"):
        if e := timed.get(key):
            memory = (
                f" and {figure(e['memory'])} times the data" if "memory" in e else ""
            )
            lines.append(
                f"- A fit to {e['data']} takes {median_time(e, 'ours_seconds')}, "
                f"{figure(e['ratio'])} times what `X.T @ X` takes{memory}."
            )
    if (e := timed.get("statistics, float64")) and (fit := timed.get("fit, float64")):
        rest = 1e3 * (median(fit["ours_seconds"]) - median(e["ours_seconds"]))
        lines.append(
            f"- The class statistics alone take {median_time(e, 'ours_seconds')}, "
            f"{figure(e['ratio'])} times `X.T @ X`. The other {rest:.1f} ms of a fit "
            "are for the guard and the pairs: many small steps, however many rows "
            "there are."
        )
    if e := timed.get("LDA, float64"):
        lines.append(
            f"- scikit-learn's LDA on the same GPU takes {figure(1 / e['ratio'])} "
            f"times as long as ours ({e['data']})."
        )
    if (e := known.get("large LDA, float64")) and "error" in e:
        lines.append(f"- With {e['data']} it fails: {_escaped(e['error'])}.")
    if e := timed.get("processors, float64"):
        lines.append(
            f"- On the processors of the same machine our fit takes "
            f"{figure(1 / e['ratio'])} times as long as on the GPU ({e['data']})."
        )
    if e := timed.get("batches, float64"):
        lines.append(
            "- Rows that stay in the memory of the host, and go to the GPU in batches, "
            f"take {figure(e['ratio'])} times as long as on the processors "
            f"({_remark(e)}): for rows that do not fit on the GPU."
        )
    if e := timed.get("search, float64"):
        lines.append(
            f"- An iteration of Algorithm 2 takes {median_time(e, 'ours_seconds')} "
            f"({e['data']})."
        )
    for k in (2, 10):
        if e := timed.get(f"predict, {k} classes, float64"):
            lines.append(
                f"- `predict` with {k} classes takes {figure(e['ratio'])} times as "
                f"long as reading the rows ({e['data']})."
            )
    small = [timed[k] for k in ("small, fit", "small, predict") if k in timed]
    if len(small) == 2:
        fit, predict = small
        lines.append(
            f"- **Leave small data in NumPy**: with {fit['data']} a fit takes "
            f"{figure(fit['ratio'])} times as long on the GPU as without it, and a "
            f"prediction {figure(predict['ratio'])} times."
        )
    return "\n".join(["## In short", "", *lines, ""]) if lines else ""


def _protocol(here: Record) -> str:
    libraries = here["libraries"] | {
        name: here[name] for name in ("torch", "CUDA", "cupy") if name in here
    }
    versions = ", ".join(f"{k} {v}" for k, v in libraries.items())
    lines = [
        "## Protocol",
        "",
        f"- **Machine**: {_device(here)}, {here['processors']} processors "
        f"({here['architecture']}); Python {here['python']}, heterolda "
        f"{here['heterolda']}, {versions}; kernels: {here['kernels']}. "
        f"Measured on {here['date']}, in {here['seconds']} s.",
        "- **Data**: Gaussian classes of unequal means and variances, made on the "
        "device; labels are int64. Products in float32 are not rounded "
        "further (no TF32).",
        "- **Times**: our call and the peer's take turns, after up to two that are not "
        "counted. The device is waited for before and after each. Times are medians, "
        "the ratio is the median over the turns, with quartiles. Calls of seconds have "
        "few turns.",
        "- Where a call raises, the remark is the first line of its error.",
        "",
    ]
    return "\n".join(lines)
