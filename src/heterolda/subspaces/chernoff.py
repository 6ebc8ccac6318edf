"""Loog and Duin's subspace: Fisher's, with the differences of the covariances."""

from __future__ import annotations

import numpy as np

from heterolda.foundations.types import Array
from heterolda.subspaces.classes import WhitenedClasses
from heterolda.subspaces.fisher import leading

# Matrices of pairs are decomposed in batches of about this many numbers.
_BATCH_SIZE = 1 << 22


def chernoff(classes: WhitenedClasses, n_components: int) -> Array:
    r"""Directions of the largest Chernoff distances between classes, the best first.

    In coordinates in which :math:`\sum_k p_k S_k` is the identity, they are the
    eigenvectors of

    .. math::
        \sum_{i<j} p_i p_j \Bigl[S_{ij}^{-1/2} \delta \delta' S_{ij}^{-1/2}
        + \frac{1}{\pi_i \pi_j} (\ln S_{ij} - \pi_i \ln S_i - \pi_j \ln S_j)\Bigr],

    with :math:`\pi_i = p_i / (p_i + p_j)`, :math:`S_{ij} = \pi_i S_i + \pi_j S_j` and
    :math:`\delta = m_i - m_j`, equation (11) of [1]_. Where covariances are equal this
    is the matrix of :func:`fisher`.

    References
    ----------
    .. [1] M. Loog and R. P. W. Duin (2004), "Linear dimensionality reduction via a
       heteroscedastic extension of LDA: the Chernoff criterion", IEEE Transactions on
       Pattern Analysis and Machine Intelligence 26, 732-739.
    """
    # The pooled covariance has the divisors of scikit-learn, which are not the priors.
    mean = np.tensordot(classes.priors, classes.covariances, axes=1)
    spread, turn = np.linalg.eigh(mean)
    root = turn / np.sqrt(spread)
    whitened = WhitenedClasses(
        classes.basis @ root,
        classes.priors,
        classes.weights,
        classes.means @ root,
        root.T @ classes.covariances @ root,
    )
    both = classes.priors[classes.pairs]
    shares = both / both.sum(axis=1, keepdims=True)
    distances = directed_distances(whitened, shares, both.prod(axis=1))
    return np.linalg.qr(root @ leading(distances, n_components))[0]


def directed_distances(
    classes: WhitenedClasses, shares: Array, weights: Array
) -> Array:
    r"""Weighted sum of the directed distance matrices of all pairs.

    The matrix of a pair is what stands in the brackets of :func:`chernoff`; its
    trace is :math:`2 / (\pi_i \pi_j)` times the Chernoff distance at :math:`\pi_i`.

    Parameters
    ----------
    classes : WhitenedClasses
        The classes.
    shares : ndarray of shape (n_pairs, 2)
        The weights of both covariances of a pair, which sum to one.
    weights : ndarray of shape (n_pairs,)
        Those of the sum.
    """
    rank, n_classes = classes.rank, len(classes.priors)
    total = np.zeros((rank, rank))
    step = max(1, _BATCH_SIZE // rank**2)
    for start in range(0, len(weights), step):
        rows = slice(start, start + step)
        (i, j), (a, b) = classes.pairs[rows].T, shares[rows].T
        weight, factor = weights[rows], weights[rows] / (a * b)
        mixed = a[:, None, None] * classes.covariances[i]
        mixed += b[:, None, None] * classes.covariances[j]
        values, vectors = np.linalg.eigh(mixed)
        apart = vectors.mT @ (classes.means[i] - classes.means[j])[:, :, None]
        shift = (vectors @ (apart / np.sqrt(values)[:, :, None]))[:, :, 0]
        total += (shift.T * weight) @ shift
        columns = vectors.transpose(1, 0, 2).reshape(rank, -1)
        total += (columns * (factor[:, None] * np.log(values)).ravel()) @ columns.T
        own = np.bincount(i, factor * a, n_classes)
        own += np.bincount(j, factor * b, n_classes)
        total -= np.tensordot(own, classes.logarithms, axes=1)
    return total
