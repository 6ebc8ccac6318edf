"""Display all classes in two components."""

from __future__ import annotations

import numpy as np

from heterolda.estimators.base import host_of
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.gathering import check_has_statistics
from heterolda.estimators.projection import HeteroscedasticProjection
from heterolda.estimators.smoothed import SmoothedLinearDiscriminant
from heterolda.foundations.wording import percent, printable
from heterolda.inspection.displays.base import (
    Display,
    check_kind,
    check_rows,
    ellipse_of,
    limits_of,
    pyplot,
    quadratic_grid,
    subsample,
)
from heterolda.statistics.wide import in_span

# Eight colors that differ by at least 23 in CIELAB, even with red-green blindness, and
# are visible on white, on black and inverted.
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
_MARKERS = "os^Dvp*<"
_MAX_POINTS = 5000  # of all classes together
_MANY_POINTS = 1000  # drawn as pixels in vector files
_HALF = np.sqrt(2 * np.log(2))  # deviations of the ellipse that holds half of a class
_GRID = 401  # points of each axis at which the rule is evaluated
_MAX_NAME = 18  # characters
_CLEAR = 0.12  # of the width, between names


class ClassMapDisplay(Display):
    """All classes in the first two components of a projection.

    Each class is an ellipse that holds half of it under the Gaussian model, with its
    name at its edge. The pale regions are the decisions of the quadratic rule of the
    projected classes, which maximizes density times prior. If there are many rows, the
    map shows about 5000, and as many of rare classes as of frequent ones.

    Attributes
    ----------
    means : ndarray of shape (n_classes, 2)
        Projected means.
    covariances : ndarray of shape (n_classes, 2, 2)
        Projected covariances.
    priors : ndarray of shape (n_classes,)
        Class probabilities.
    classes : ndarray of shape (n_classes,)
        Labels.
    explained : ndarray of shape (2,)
        Share of the separation of the classes that each component adds, under the
        Gaussian model.
    points : list of ndarray of shape (n_k, 2) or None
        Projected rows of each class.
    ax_, figure_
        The axes and the figure.

    See Also
    --------
    HeteroscedasticProjection : The components.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from heterolda import HeteroscedasticProjection
    >>> from heterolda.inspection import ClassMapDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> projection = HeteroscedasticProjection(n_components=2).fit(X, y)
    >>> display = ClassMapDisplay.from_estimator(projection, X, y)
    >>> display.ax_.get_title()
    '2 components keep 98.7 % of the separation'
    """

    _size = 7.2, 5.6

    @classmethod
    def from_estimator(cls, estimator, X=None, y=None, *, ax=None):
        """Draw the classes of a fitted projection or discriminant.

        Parameters
        ----------
        estimator : estimator
            A fitted HeteroscedasticProjection, GaussianLinearDiscriminant or
            SmoothedLinearDiscriminant. The map shows the first components of a
            projection; for a discriminant it fits one to its class statistics, which
            may be those of transformed features.
        X : array-like of shape (n_samples, n_features) or None, default=None
            Rows to show in addition to the model.
        y : array-like of shape (n_samples,) or None, default=None
            Their labels.
        ax : matplotlib axes or None, default=None
            Axes to draw on; a new figure by default.

        Returns
        -------
        ClassMapDisplay
            The display.
        """
        discriminants = GaussianLinearDiscriminant, SmoothedLinearDiscriminant
        check_kind(estimator, HeteroscedasticProjection, *discriminants)
        check_has_statistics(estimator)
        estimator = host_of(estimator)
        X, y = check_rows(estimator, X, y)
        if isinstance(estimator, discriminants):
            statistics, priors = estimator.statistics_, estimator.priors_
            powers = estimator._rules[2]
            X = X if X is None or powers is None else powers.apply(X)
            estimator = HeteroscedasticProjection(2, priors=priors)
            estimator.fit_statistics(statistics)
        if len(estimator.explained_) < 2:
            raise ValueError(
                "a map needs two components, but the projection has only 1: fit it "
                "with n_components=2"
            )
        display, axes = cls(), estimator.scalings_[:, :2]
        display.points = None
        if X is not None:
            max_rows = max(1, _MAX_POINTS // len(estimator.classes_))
            parts = [subsample(X[y == label], max_rows) for label in estimator.classes_]
            display.points = [(rows - estimator.mean_) @ axes for rows in parts]
        stats, span = in_span(estimator.statistics_, estimator.shrinkage)
        along = axes.T if span is None else span.rules_inside(axes.T, 0.0)[0]
        display.means = (estimator.statistics_.means - estimator.mean_) @ axes
        cov = stats.covariances(estimator.shrinkage)
        display.covariances = along @ cov @ along.T
        display.priors, display.classes = estimator.priors_, estimator.classes_
        display.explained = estimator.explained_[:2]
        return display.plot(ax=ax)

    def _draw(self, ax):
        from matplotlib.colors import ListedColormap

        color_indices = _color_indices(self.means)
        colors = [_COLORS[k] for k in color_indices]
        limits = limits_of(self.means, self.covariances)
        model = self.means, self.covariances, self.priors
        winners = quadratic_grid(*model, limits, _GRID).argmax(axis=-1)
        style = {"origin": "lower", "aspect": "auto", "interpolation": "nearest"}
        style |= {"extent": limits.ravel(), "cmap": ListedColormap(colors)}
        style |= {"vmin": 0, "vmax": len(colors) - 1, "alpha": 0.2, "zorder": 0}
        ax.imshow(winners, **style)
        is_large = self.points is not None and sum(map(len, self.points)) > _MANY_POINTS
        ink, ground = pyplot().rcParams["text.color"], ax.get_facecolor()
        names = np.empty((0, 2))
        for k, color in enumerate(colors):
            if self.points is not None and len(self.points[k]):
                # Classes of the same color have different markers.
                use = color_indices[k] + color_indices[:k].count(color_indices[k])
                marker = _MARKERS[use % len(_MARKERS)]
                style = {"marker": marker, "s": 9, "alpha": 0.55, "linewidths": 0}
                style |= {"color": color, "zorder": 2, "rasterized": is_large}
                ax.scatter(*self.points[k].T, **style)
            mean, cov = self.means[k], self.covariances[k]
            ellipse = ellipse_of(mean, cov, _HALF, edgecolor=color, lw=1.8, zorder=3)
            ax.add_patch(ellipse)
            # At its highest, lowest or outermost point, clear of other names.
            sd = np.sqrt(np.diag(cov))
            reach = np.divide(cov, sd, out=np.zeros((2, 2)), where=sd > 0).T[::-1]
            ends = mean + _HALF * np.concatenate([reach, -reach])
            apart = np.abs(ends[:, None] - names) / np.ptp(limits, axis=1) * [1, 2]
            room = apart.max(axis=2).min(axis=1, initial=_CLEAR)
            names = np.vstack([names, ends[room.argmax()]])
            ax.annotate(
                printable(str(self.classes[k]), _MAX_NAME),
                names[-1],
                ha="center",
                va="center",
                fontsize="small",
                fontweight="bold",
                color=ink,
                bbox={"boxstyle": "round,pad=0.2", "fc": ground, "ec": color},
                zorder=5,
                parse_math=False,
            )
        first, second = map(percent, self.explained)
        title = f"2 components keep {percent(sum(self.explained))} of the separation"
        ax.set_title(title, fontsize="medium")
        ax.set(xlabel=f"component 1 ({first})", ylabel=f"component 2 ({second})")
        ax.set(xlim=limits[0], ylim=limits[1])


def _color_indices(means):
    """Return the color of each class; classes that share a color are far apart."""
    color_indices = []
    for k, mean in enumerate(means):
        nearest = np.full(len(_COLORS), np.inf)
        distances = np.linalg.norm(means[:k] - mean, axis=1)
        np.minimum.at(nearest, np.array(color_indices, np.intp), distances)
        color_indices.append(int(nearest.argmax()))
    return color_indices
