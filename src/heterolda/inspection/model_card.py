"""A model card: one page with the rules, tables and pictures, for any browser."""

from __future__ import annotations

import base64
import io
import os
import sys
import warnings
from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from heterolda.foundations.files import written_whole
from heterolda.foundations.wording import percent
from heterolda.inspection.displays.base import pyplot
from heterolda.inspection.displays.boundary import BoundaryDisplay
from heterolda.inspection.displays.error_curve import ErrorCurveDisplay
from heterolda.inspection.displays.frontier_curve import FrontierDisplay
from heterolda.inspection.displays.projection import ProjectionDisplay
from heterolda.inspection.model_facts import COEFFICIENT_HEAD, ModelFacts, PairFacts
from heterolda.inspection.sentences import record_sentence

_MOST_FEATURES = 15
_MOST_PAIRS = 30
_CAPTIONS = {
    ProjectionDisplay: "Both classes along the normal of the rule: densities times "
    "priors, the threshold, and the shares that are decided wrongly (plug-in).",
    FrontierDisplay: "The optimal trade-off between the two plug-in error rates, and "
    "where this rule is.",
    ErrorCurveDisplay: "The plug-in error of all admissible rules, and where the "
    "solvers end.",
    BoundaryDisplay: "The plane of the rule's normal and of the widest direction "
    "across it: the classes as ellipses of one and two deviations, and the rules.",
}


def write_card(
    facts: ModelFacts,
    name: str,
    path: str | os.PathLike[str],
    pairs: Sequence[PairFacts],
) -> None:
    """Write the page of a model, with a section and pictures for some of its pairs.

    The page needs nothing else, and no network.
    """
    with written_whole(path) as file:  # before the work, to fail early
        file.write(_page(facts, name, pairs).encode())


def _page(facts: ModelFacts, name: str, pairs: Sequence[PairFacts]) -> str:
    """The page of a model as HTML."""
    template = Template(Path(__file__).with_suffix(".html").read_text("utf-8"))
    notes = facts.notes()
    if facts.statistics is None:
        notes.append(
            "The model has no class statistics: features are not standardised, and "
            "there are no pictures."
        )
    record = facts.record
    known = [] if record is None else [record_sentence(record)]
    lead = [*facts.accuracy_lines(), facts.sentence, *known]
    return template.substitute(
        name=escape(name),
        lead="\n".join(f"<p>{escape(sentence)}</p>" for sentence in lead),
        version=escape(sys.modules["heterolda"].__version__),
        notes="\n".join(map(_note, notes)),
        classes=_table(*facts.class_table()),
        features=_features(["feature", "weight"], facts.mean_shares()),
        pairs=_pairs(facts),
        rules="\n".join(_rule(facts, pair) for pair in pairs),
    )


def _pairs(facts: ModelFacts) -> str:
    """All pairs, or the worst of very many."""
    if facts.discriminant is None:
        return _note("The model does not know the errors of its rules.")
    more = len(facts.pairs) - _MOST_PAIRS
    note = _note(f"And {more} more pairs with smaller errors.")
    return _table(*facts.pair_table(_MOST_PAIRS)) + (note if more > 0 else "")


def _rule(facts: ModelFacts, pair: PairFacts) -> str:
    """The section of a pair."""
    first, second = pair.classes
    parts = [
        f"<section><h2>{escape(pair.name)}</h2>",
        f"<p>{escape(facts.rule_sentence(pair))}</p>",
    ]
    features = facts.coefficients(pair)
    if features:
        parts.append(_features(COEFFICIENT_HEAD, features))
    points = facts.operating_points(pair)
    if points:
        names = ["rules on the optimal trade-off (plug-in)"]
        head = [*names, f"{first} wrong", f"{second} wrong", "error"]
        parts.append(_table(head, points))
    parts.append(_pictures(facts, pair))
    return "\n".join([*parts, "</section>"])


def _features(head: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> str:
    """Names and shares of features, the largest first and as bars, with more cells."""
    shares = [share for _, share, *_ in rows]
    table = [
        [name, _bar(share, shares[0]), *cells]
        for name, share, *cells in rows[:_MOST_FEATURES]
    ]
    rest = shares[_MOST_FEATURES:]
    if not rest:
        return _table(head, table)
    weight = percent(sum(rest))
    note = _note(f"And {len(rest)} more features with {weight} of the weight.")
    return _table(head, table) + note


class _Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def _bar(share: float, largest: float) -> _Markup:
    width = 100 * share / largest if largest > 0 else 0.0
    return _Markup(
        f"<span>{percent(share)}</span>"
        f'<span class="bar"><i style="width:{width:.1f}%"></i></span>'
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    heads = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    lines = [
        f'<tr><th scope="row">{escape(first)}</th>'
        + "".join(
            f"<td>{cell if isinstance(cell, _Markup) else escape(cell)}</td>"
            for cell in cells
        )
        + "</tr>"
        for first, *cells in rows
    ]
    return (
        '<div class="scroll" tabindex="0"><table><thead><tr>'
        f"{heads}</tr></thead><tbody>\n" + "\n".join(lines) + "\n</tbody></table></div>"
    )


def _note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>'


def _pictures(facts: ModelFacts, pair: PairFacts) -> str:
    """The displays of a pair; those that it cannot have are left out."""
    discriminant = facts.discriminant
    if facts.statistics is None or discriminant.pairs_[0, 0] < 0:
        return ""
    labels = discriminant.classes_[discriminant.pairs_[pair.index]].tolist()
    figures = []
    for display, caption in _CAPTIONS.items():
        picture = _picture(display, discriminant, tuple(labels))
        if picture:
            alt = escape(f"{pair.name}: {caption}")
            figures.append(
                f'<figure><img alt="{alt}" src="{picture}"><figcaption>'
                f"{escape(caption)}</figcaption></figure>"
            )
    about = ""
    if facts.has_local_search:
        about = _note("The pictures show the rule before the refinement.")
    return f'{about}<div class="pictures">{"".join(figures)}</div>'


def _picture(display: Any, model: Any, labels: tuple[Any, ...]) -> str:
    """A display as the address of a picture that holds itself."""
    plt: Any = pyplot()  # type: ignore[no-untyped-call]
    # The same model makes the same page.
    settings = {"svg.hashsalt": "heterolda", "svg.fonttype": "path", "font.size": 11}
    with plt.rc_context(settings), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of glyphs that a font lacks
        # Not one of pyplot's, which would open a window and stay in memory.
        figure = plt.Figure(figsize=(6.4, 4.4), layout="constrained")
        try:
            display.from_estimator(model, pair=labels, ax=figure.subplots())
        except ValueError:
            return ""  # one feature has no plane, a constant answer no normal
        buffer = io.BytesIO()
        figure.savefig(
            buffer,
            format="svg",
            transparent=True,
            metadata={"Date": None, "Creator": None},
        )
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    return f"data:image/svg+xml;base64,{data}"
