"""All classes at once, in two or three components."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.gathering import check_has_statistics
from heterolda.estimators.placement import host_of
from heterolda.estimators.projection import HeteroscedasticProjection
from heterolda.foundations.wording import percent
from heterolda.inspection.displays.base import (
    MOST_POINTS,
    Display,
    check_rows,
    ellipse_of,
    inside,
    limits_of,
    pyplot,
    thin,
)
from heterolda.inspection.displays.labels import write_labels
from heterolda.statistics.wide import in_span
from heterolda.subspaces import QuadraticRule

# Eight colors that differ by 23 in CIELAB at least, also with red-green blindness, and
# are neither pale nor dark, so that they show on white, on black and inverted.
_COLORS = (
    "#2a6fbb",
    "#d1602b",
    "#dca103",
    "#44c168",
    "#35b8e1",
    "#625dff",
    "#9a7d95",
    "#647e5a",
)
_MARKERS = "os^DvPXp"
_MOST_IN_ALL = 5000  # points of all classes together
_HALF = np.sqrt(2 * np.log(2))  # deviations of the ellipse that holds half of a class
_MANY = 12  # classes that make a picture crowded
_GRID = 241  # points of each axis at which the rule is evaluated


@dataclass(kw_only=True, eq=False, repr=False)
class ClassMapDisplay(Display):
    """All classes in the components of a projection.

    Each class is an ellipse that holds half of it under the Gaussian model, with its
    name at the mean. The pale regions are those of the quadratic rule of the projected
    classes: where a class has the largest density times prior. If the rule gives the
    mean to another class, the name stands at the most probable place of the ellipse
    within its own region. Names that would overlap are moved, and a line leads back.

    Two components make one panel; three make a panel for each two of them, with the
    regions of its own rule. Of many rows the map shows a sample of about 5000, with as
    many points of rare classes as of frequent ones.

    Parameters
    ----------
    means : ndarray of shape (n_classes, n_components)
        Projected means.
    covariances : ndarray of shape (n_classes, n_components, n_components)
        Projected covariances.
    priors : ndarray of shape (n_classes,)
        Class probabilities.
    classes : ndarray of shape (n_classes,)
        Labels.
    explained : ndarray of shape (n_components,)
        Share of the separation of the classes that each component adds, under the
        Gaussian model.
    points : list of ndarray of shape (n_k, n_components) or None, default=None
        Projected data of each class.

    Attributes
    ----------
    ax_ : matplotlib axes or ndarray of axes
        One, or one for each panel.
    figure_
        Where it was drawn.
    regions_, ellipses_, scatters_, labels_ : list of lists
        For each panel, what was drawn for the classes. A class without a region, or
        without data, has none.

    See Also
    --------
    HeteroscedasticProjection : The components.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_wine
    >>> from heterolda import ClassMapDisplay, HeteroscedasticProjection
    >>> X, y = load_wine(return_X_y=True)
    >>> projection = HeteroscedasticProjection(n_components=2).fit(X, y)
    >>> display = ClassMapDisplay.from_estimator(projection, X, y)
    >>> display.ax_.get_title()
    '2 components keep 98.7 % of the separation'
    >>> matplotlib.pyplot.close(display.figure_)
    """

    means: Any
    covariances: Any
    priors: Any
    classes: Any
    explained: Any
    points: Any = None

    @classmethod
    def from_estimator(cls, estimator, X=None, y=None, *, components=2, ax=None):
        """Draw the classes of a fitted projection or discriminant.

        Parameters
        ----------
        estimator : HeteroscedasticProjection or GaussianLinearDiscriminant
            Fitted. The map shows the first components of a projection; for a
            discriminant it fits a projection to its class statistics.
        X : array-like of shape (n_samples, n_features) or None, default=None
            Data to show beside the model.
        y : array-like of shape (n_samples,) or None, default=None
            Their labels.
        components : {2, 3}, default=2
            How many components to show.
        ax : matplotlib axes, array of three axes or None, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        ClassMapDisplay
            The display.
        """
        estimator = host_of(estimator)
        if isinstance(estimator, GaussianLinearDiscriminant):
            estimator._check_ready()
            check_has_statistics(estimator)
            settings = {"priors": estimator.priors_}
            estimator = _projection(estimator.statistics_, components, settings)
        elif not isinstance(estimator, HeteroscedasticProjection):
            _refuse(estimator)
        estimator._check_ready()
        check_has_statistics(estimator)
        n = len(estimator.explained_)
        _check_components(components)
        if n < components:
            raise ValueError(
                f"components={components}, but the projection has only {n}: fit it "
                f"with n_components={components}"
            )
        axes = estimator.scalings_[:, :components]
        points = None
        X, y = check_rows(estimator, X, y)
        if X is not None:
            most = max(1, _MOST_IN_ALL // len(estimator.classes_))
            parts = [thin(X[y == label], most) for label in estimator.classes_]
            points = [(rows - estimator.mean_) @ axes for rows in parts]
        stats, span = in_span(estimator.statistics_, estimator.shrinkage)
        along = axes.T if span is None else span.rules_inside(axes.T, 0.0)[0]
        return cls(
            means=(estimator.statistics_.means - estimator.mean_) @ axes,
            covariances=along @ stats.covariances(estimator.shrinkage) @ along.T,
            priors=estimator.priors_,
            classes=estimator.classes_,
            explained=estimator.explained_[:components],
            points=points,
        ).plot(ax=ax)

    @classmethod
    def from_statistics(
        cls,
        statistics,
        X=None,
        y=None,
        *,
        components=2,
        method="error",
        shrinkage="auto",
        priors=None,
        ax=None,
    ):
        """Draw classes of which statistics are known.

        Parameters
        ----------
        statistics : ClassStatistics
            Weights, means and covariances.
        X, y, components, ax
            As for `from_estimator`.
        method, shrinkage, priors
            As for `HeteroscedasticProjection`.

        Returns
        -------
        ClassMapDisplay
            The display.
        """
        settings = {"method": method, "shrinkage": shrinkage, "priors": priors}
        projection = _projection(statistics, components, settings)
        return cls.from_estimator(projection, X, y, components=components, ax=ax)

    def _panels(self):
        self.regions_, self.ellipses_, self.scatters_, self.labels_ = [], [], [], []
        self._styles = _styles(self.means)
        n_classes, n = np.shape(self.means)
        width, height = (6.8, 5.2) if n == 2 else (5.0, 4.4)
        grow = 1.25 if n_classes > _MANY else 1.0
        self._size = grow * width, grow * height
        return list(combinations(range(n), 2))

    def _draw(self, ax, panel):
        """Draw the panel of two components."""
        from matplotlib.colors import to_rgba
        from matplotlib.patheffects import withStroke

        two, (colors, markers) = list(panel), self._styles
        ink = pyplot().rcParams["text.color"]
        many = len(self.means) > _MANY
        width = 1.2 if many else 1.8
        # Ellipses show on points of their own color.
        halo = withStroke(linewidth=width + 1.6, foreground=ax.get_facecolor())
        means = self.means[:, two]
        covariances = self.covariances[:, two][:, :, two]
        limits = limits_of(means, covariances)
        names = [f"component {k + 1} ({percent(self.explained[k])})" for k in two]
        ax.set(xlim=limits[0], ylim=limits[1], xlabel=names[0], ylabel=names[1])
        # A little more than is shown, so that regions have no edge there.
        wider = limits + 0.01 * np.diff(limits) * [-1, 1]
        s, t = np.meshgrid(*(np.linspace(*ends, _GRID) for ends in wider))
        rule = QuadraticRule(means, covariances, self.priors)
        scores = rule.log_densities(np.column_stack([s.ravel(), t.ravel()]))
        scores = np.ascontiguousarray(scores.T).reshape(len(means), *s.shape)
        margins = _margins(scores)
        drawn = self.regions_, self.ellipses_, self.scatters_, self.labels_
        for one in drawn:
            one.append([])
        regions, ellipses, scatters, labels = (one[-1] for one in drawn)
        for k, (color, marker) in enumerate(zip(colors, markers, strict=True)):
            if margins[k].max() > 0:
                style = {"colors": [to_rgba(color, 0.2)], "zorder": 0}
                region = ax.contourf(s, t, margins[k], levels=[0.0, np.inf], **style)
                region.set(edgecolor=to_rgba(ink, 0.3), linewidth=0.7)
                regions.append(region)
            if self.points is not None and len(self.points[k]):
                style = {"color": color, "marker": marker, "s": 8 if many else 11}
                style |= {"alpha": 0.55, "linewidths": 0, "zorder": 2}
                # Thousands of markers make a drawing slow and large.
                style["rasterized"] = sum(map(len, self.points)) > MOST_POINTS
                scatters.append(ax.scatter(*self.points[k][:, two].T, **style))
            style = {"edgecolor": color, "lw": width, "zorder": 3}
            ellipse = ellipse_of(means[k], covariances[k], _HALF, **style)
            ellipse.set_path_effects([halo])
            ellipses.append(ax.add_patch(ellipse))
        places = _label_places(rule, limits, s, t, means, scores, margins)
        size = 9.0 if len(self.explained) == 2 else 7.5
        labels += write_labels(ax, self.classes.tolist(), places, colors, ink, size)
        if two == [0, 1]:
            n, kept = len(self.explained), percent(sum(self.explained))
            title = f"{n} components keep {kept} of the separation"
            ax.set_title(title, fontsize="medium")


def _check_components(components):
    """Reject numbers of components that no picture shows."""
    if components not in (2, 3):
        raise ValueError(
            f"components must be 2 or 3, got {components!r}: a map has two components, "
            "or each two of three"
        )


def _refuse(estimator):
    """Say what to pass in place of what is neither projection nor discriminant."""
    remedy = inside(estimator)
    if isinstance(estimator, Pipeline):
        remedy = (
            "pass the fitted step, such as pipeline[-1], with the rows that this step "
            "sees: pipeline[:-1].transform(X)"
        )
    raise TypeError(
        "estimator must be a HeteroscedasticProjection or a "
        f"GaussianLinearDiscriminant, got {type(estimator).__name__}: {remedy}"
    )


def _projection(statistics, components, settings):
    """Return the projection on just so many components."""
    _check_components(components)
    if getattr(statistics, "n_features", components) < components:
        raise ValueError(
            f"components={components} needs as many features, and there is only "
            f"{statistics.n_features}: ProjectionDisplay draws pairs of classes along "
            "a line"
        )
    projection = HeteroscedasticProjection(components, **settings)
    return projection.fit_statistics(statistics)


def _styles(means):
    """Return a color and a marker for each class; no two classes have both in common.

    Of more classes than colors, those that share one are far from each other.
    """
    colors, markers = [], []
    for k, mean in enumerate(means):
        distances = np.full(len(_COLORS), np.inf)
        apart = np.linalg.norm(means[:k] - mean, axis=1)
        np.minimum.at(distances, np.array(colors, np.intp), apart)
        best = int(distances.argmax())
        markers.append(_MARKERS[(best + colors.count(best)) % len(_MARKERS)])
        colors.append(best)
    return [_COLORS[color] for color in colors], markers


def _margins(scores):
    """Return how much each class's score is above the best of the others."""
    second, first = np.partition(scores, -2, axis=0)[-2:]
    return scores - np.where(scores == first, second, first)


def _label_places(rule, limits, s, t, means, scores, margins):
    """Return where the names of the classes stand, within the limits.

    A region may be narrower than the grid: the rule is evaluated at the means, too.
    """
    places = means.copy()
    winners = rule.winners(means)
    for k in np.flatnonzero(winners != np.arange(len(means))):
        own = (margins[k] > 0) & (scores[k] > scores[k].max() - np.log(2))
        if own.any():
            best = np.where(own, scores[k], -np.inf).argmax()
            places[k] = s.flat[best], t.flat[best]
    return np.clip(places, *limits.T)
