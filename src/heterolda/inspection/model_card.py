"""A model card: one page with the rules, tables and pictures, for any browser."""

from __future__ import annotations

import base64
import io
import os
import sys
import warnings
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from heterolda.foundations.files import written_whole
from heterolda.foundations.wording import percent
from heterolda.inspection.model_facts import (
    PairFacts,
    discriminant_of,
    feature_names,
    has_statistics,
    mean_weights,
    operating_points,
)
from heterolda.inspection.model_text import (
    COEFFICIENT_HEAD,
    coefficients,
    model_line,
    rule_sentence,
)
from heterolda.inspection.summary import pair_table

__all__ = ["write_card"]

_MOST_FEATURES = 15
_MOST_PAIRS = 30
_PICTURES = {
    "projection": (
        "ProjectionDisplay",
        "Both classes along the normal of the rule: densities times priors, the "
        "threshold, and the shares that are decided wrongly.",
    ),
    "frontier_curve": (
        "FrontierDisplay",
        "The optimal trade-off between the two error rates, and where this rule is.",
    ),
    "error_curve": (
        "ErrorCurveDisplay",
        "The error of all admissible rules, and where the solvers end.",
    ),
    "boundary": (
        "BoundaryDisplay",
        "The plane of the rule's normal and of the widest direction across it: the "
        "classes as ellipses of one and two deviations, and the rules.",
    ),
}


def write_card(
    model: Any, name: str, path: str | os.PathLike[str], pairs: Sequence[PairFacts]
) -> Path:
    """Write the card of a model. It needs nothing else, and no network.

    Parameters
    ----------
    model : fitted estimator
        The model.
    name : str
        Its name.
    path : str or path-like
        The file to write, whole or not at all.
    pairs : sequence of PairFacts
        The rules that get a section with pictures.

    Returns
    -------
    Path
        The file.
    """
    with written_whole(path) as file:  # before the work, to fail early
        file.write(make_card(model, name, pairs).encode())
    return Path(path)


def make_card(model: Any, name: str, pairs: Sequence[PairFacts]) -> str:
    """The page of a model.

    Parameters
    ----------
    model, name, pairs
        As for `write_card`.

    Returns
    -------
    str
        HTML.
    """
    template = Template(
        files("heterolda.inspection").joinpath("model_card.html").read_text("utf-8")
    )
    notes = ""
    if not has_statistics(model):
        notes = _paragraph(
            "The model has no class statistics: features are not standardised, and "
            "there are no pictures.",
            "note",
        )
    return template.substitute(
        name=escape(name),
        lead=escape(model_line(model)),
        version=escape(sys.modules["heterolda"].__version__),
        notes=notes,
        classes=_classes(model),
        features=_weights(feature_names(model), mean_weights(model)),
        pairs=_pairs(model),
        rules="\n".join(_rule(model, pair) for pair in pairs),
    )


def _classes(model: Any) -> str:
    discriminant = discriminant_of(model)
    labels = [str(label) for label in model.classes_.tolist()]
    if discriminant is None:
        return _table(["class"], [[label] for label in labels])
    priors = [percent(prior) for prior in discriminant.priors_.tolist()]
    if not has_statistics(model):
        return _table(["class", "prior"], list(zip(labels, priors, strict=True)))
    counts = [f"{weight:,.10g}" for weight in discriminant.statistics_.weights.tolist()]
    rows = list(zip(labels, counts, priors, strict=True))
    return _table(["class", "rows", "prior"], rows)


def _pairs(model: Any) -> str:
    """All pairs, or the worst of very many."""
    if discriminant_of(model) is None:
        return _paragraph("The model does not know the errors of its rules.", "note")
    more = len(model.pairs_) - _MOST_PAIRS
    note = _paragraph(f"And {more} more pairs with smaller errors.", "note")
    return _table(*pair_table(model, _MOST_PAIRS)) + (note if more > 0 else "")


def _rule(model: Any, pair: PairFacts) -> str:
    """The section of a pair."""
    first, second = pair.classes
    parts = [
        f"<section><h2>{escape(pair.name)}</h2>",
        _paragraph(rule_sentence(model, pair)),
    ]
    features = coefficients(model, pair)
    if features:
        shown = features[:_MOST_FEATURES]
        rows = [
            [one.name, _bar(one.share, features[0].share), *one.cells] for one in shown
        ]
        parts.append(_table(COEFFICIENT_HEAD, rows))
        parts.append(_rest(len(features), sum(one.share for one in shown)))
    points = operating_points(model, pair)
    if points:
        head = ["rules on the optimal trade-off", f"{first} wrong", f"{second} wrong"]
        rows = [[name, *map(percent, figures)] for name, *figures in points]
        parts.append(_table([*head, "error"], rows))
    parts.append(_pictures(model, pair))
    return "\n".join([*parts, "</section>"])


def _weights(names: list[str], shares: Any) -> str:
    """The features that weigh most over all rules, as bars."""
    order = np.argsort(-shares, kind="stable")[:_MOST_FEATURES]
    rows = [[names[j], _bar(shares[j], shares.max())] for j in order]
    return _table(["feature", "weight"], rows) + _rest(len(names), shares[order].sum())


def _rest(n_features: int, shown: float) -> str:
    more = n_features - _MOST_FEATURES
    if more <= 0:
        return ""
    rest = percent(max(1 - shown, 0.0))
    return _paragraph(f"And {more} more features with {rest} of the weight.", "note")


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


def _paragraph(text: str, css: str = "") -> str:
    kind = f' class="{css}"' if css else ""
    return f"<p{kind}>{escape(text)}</p>"


def _pictures(model: Any, pair: PairFacts) -> str:
    """The displays of a pair; those that it cannot have are left out."""
    discriminant = discriminant_of(model)
    if not has_statistics(model) or discriminant.pairs_[0, 0] < 0:
        return ""
    labels = discriminant.classes_[discriminant.pairs_[pair.index]].tolist()
    figures = []
    for module, (display, caption) in _PICTURES.items():
        picture = _picture(discriminant, module, display, tuple(labels))
        if picture:
            alt = escape(f"{pair.name}: {caption}")
            figures.append(
                f'<figure><img alt="{alt}" src="{picture}"><figcaption>'
                f"{escape(caption)}</figcaption></figure>"
            )
    about = ""
    if model is not discriminant:
        about = _paragraph("The pictures show the rule before the refinement.", "note")
    return f'{about}<div class="pictures">{"".join(figures)}</div>'


def _picture(model: Any, module: str, display: str, labels: tuple[Any, Any]) -> str:
    """A display as the address of a picture that holds itself."""
    from importlib import import_module

    from heterolda.inspection.displays.base import pyplot

    plt: Any = pyplot()  # type: ignore[no-untyped-call]
    make = getattr(import_module(f"heterolda.inspection.displays.{module}"), display)
    # The same model makes the same page.
    settings = {"svg.hashsalt": "heterolda", "svg.fonttype": "path", "font.size": 11}
    with plt.rc_context(settings), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of glyphs that a font lacks
        # Not one of pyplot's, which would open a window and stay in memory.
        figure = plt.Figure(figsize=(6.4, 4.4), layout="constrained")
        try:
            make.from_estimator(model, pair=labels, ax=figure.subplots())
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
