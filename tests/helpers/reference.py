"""A slow reference with fifty digits for the best linear rule of two Gaussians.

It is written from the theory alone and shares no code with the package. It solves a
linear system for every trial direction, scans the whole arc of admissible rules, and
refines every promising bracket.
"""

from dataclasses import dataclass

import mpmath
import numpy as np

# A context of its own, so that the precision is not changed for anybody else.
mp = mpmath.MPContext()
mp.dps = 50

GOLDEN = (mp.sqrt(5) - 1) / 2


@dataclass(frozen=True, eq=False)
class Problem:
    """Two Gaussians; ``p1`` is the prior of the first."""

    m1: np.ndarray
    m2: np.ndarray
    S1: np.ndarray
    S2: np.ndarray
    p1: float = 0.5

    @property
    def p2(self):
        return 1.0 - self.p1


@dataclass(frozen=True)
class Gaussians:
    """A problem in fifty digits."""

    m1: mpmath.matrix
    m2: mpmath.matrix
    S1: mpmath.matrix
    S2: mpmath.matrix
    p1: mpmath.mpf
    p2: mpmath.mpf

    @classmethod
    def of(cls, p):
        total = mp.mpf(p.p1) + mp.mpf(p.p2)
        return cls(
            *(mp.matrix(x.tolist()) for x in (p.m1, p.m2, p.S1, p.S2)),
            mp.mpf(p.p1) / total,
            mp.mpf(p.p2) / total,
        )

    @property
    def trivial_error(self):
        return min(self.p1, self.p2)


def dot(a, b):
    return mp.fdot(list(a), list(b))


def deviation(S, w):
    return mp.sqrt(dot(w, S * w))


def errors_of(g, w, w0):
    """Error rates of the two classes."""
    return (
        mp.ncdf((w0 - dot(w, g.m1)) / deviation(g.S1, w)),
        mp.ncdf((dot(w, g.m2) - w0) / deviation(g.S2, w)),
    )


def error_of(g, w, w0):
    """Error of the rule "first class when w.x >= w0", from its definition."""
    if not any(w):
        return g.p2 if w0 <= 0 else g.p1
    miss1, miss2 = errors_of(g, w, w0)
    return g.p1 * miss1 + g.p2 * miss2


def stationary_thresholds(g, w):
    """Where the two weighted densities along w are equal: roots of a quadratic."""
    D = dot(w, g.m1) - dot(w, g.m2)
    v1, v2 = deviation(g.S1, w) ** 2, deviation(g.S2, w) ** 2
    a = 1 / v1 - 1 / v2
    b = -2 * D / v1
    c = D**2 / v1 - mp.log(g.p1**2 * v2 / (g.p2**2 * v1))
    offset = dot(w, g.m2)
    if b**2 < 4 * a * c:
        return []
    # Nearly equal variances make a nearly vanish: no difference may do so, too.
    q = -(b + (mp.sqrt(b**2 - 4 * a * c) if b >= 0 else -mp.sqrt(b**2 - 4 * a * c))) / 2
    return [offset + x / y for x, y in ((q, a), (c, q)) if y]


def best_threshold(g, w):
    """The stationary threshold of least error, or None where there is none."""
    return min(
        stationary_thresholds(g, w), key=lambda w0: error_of(g, w, w0), default=None
    )


def golden_section(f, a, b, tolerance):
    """Least value of f between a and b, and where."""
    c, d = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
    fc, fd = f(c), f(d)
    while abs(b - a) > tolerance:
        if fc < fd:
            b, d, fd = d, c, fc
            c = b - GOLDEN * (b - a)
            fc = f(c)
        else:
            a, c, fc = c, d, fd
            d = a + GOLDEN * (b - a)
            fd = f(d)
    return min((fc, c), (fd, d))


def minimize(f, grid, brackets=3):
    """Scan the grid and refine the best local minima.

    The width of a bracket shrinks to 1e-15 of itself, which leaves an error of about
    the square of that in the value. Returns the best value, its place and the number of
    strict local minima of the scan.
    """
    values = [f(x) for x in grid]
    inner = range(1, len(grid) - 1)
    dips = [i for i in inner if values[i - 1] > values[i] <= values[i + 1]]
    dips.sort(key=lambda i: values[i])
    best = min(zip(values, grid, strict=True))
    for i in dips[:brackets]:
        width = abs(grid[i + 1] - grid[i - 1])
        best = min(
            best, golden_section(f, grid[i - 1], grid[i + 1], width * mp.mpf("1e-15"))
        )
    strict = sum(values[i - 1] > values[i] < values[i + 1] for i in inner)
    return *best, strict


def geometric(first, last, count):
    ratio = mp.mpf(last) / mp.mpf(first)
    return [mp.mpf(first) * ratio ** (mp.mpf(i) / (count - 1)) for i in range(count)]


@dataclass(frozen=True)
class Optimum:
    """The best linear rule; its place on the arc and the dips seen on the way."""

    error: mpmath.mpf
    hyperplane_error: mpmath.mpf
    theta: mpmath.mpf | None
    minima: int


def spread(S):
    """Eigenvalues and eigenvectors of S in features of unit variance."""
    scale = [1 / mp.sqrt(S[i, i]) if S[i, i] else mp.mpf(0) for i in range(S.rows)]
    T = mp.diag(scale)
    values, axes = mp.eigsy(T * S * T)
    return values, T * axes


def pencil(g):
    """alpha and V with V'(S1 + S2)V = I and V'S1 V = diag(alpha), on the range."""
    values, axes = spread(g.S1 + g.S2)
    kept = [i for i in range(len(values)) if values[i] > mp.mpf("1e-30")]
    W = mp.matrix(len(g.m1), len(kept))
    for k, i in enumerate(kept):
        W[:, k] = axes[:, i] / mp.sqrt(values[i])
    alpha, Q = mp.eigsy(W.T * g.S1 * W)
    return list(alpha), W * Q


def floored(g):
    """The model of a singular pair, and how rules of the pair become rules of it.

    A class variance of zero is 1e-7 of the sum of both. In the coordinates of the
    pencil x = m2 + (S1 + S2) V z, so that w.x = w.m2 + (V'(S1 + S2) w).z.
    """
    alpha, V = pencil(g)
    tiny = mp.mpf("1e-30")
    if len(alpha) == len(g.m1) and all(tiny < a < 1 - tiny for a in alpha):
        return g, lambda w, w0: (w, w0)
    floor = mp.mpf("1e-7")
    alpha = [
        min(max(a, floor), 1 - floor) if not tiny < a < 1 - tiny else a for a in alpha
    ]
    c = V.T * (g.m1 - g.m2)
    zero, S1, S2 = c * 0, mp.diag(alpha), mp.diag([1 - a for a in alpha])
    B = V.T * (g.S1 + g.S2)
    model = Gaussians(c, zero, S1, S2, g.p1, g.p2)
    return model, lambda w, w0: (B * w, w0 - dot(w, g.m2))


def is_separable(g):
    """Whether the means differ where neither class varies."""
    _, V = pencil(g)
    delta = g.m1 - g.m2
    rest = delta - (g.S1 + g.S2) * (V * (V.T * delta))
    return mp.norm(rest) > mp.mpf("1e-30") * mp.norm(delta)


def ends_of_arc(alpha):
    """Angles between which all alpha cos(theta) + (1 - alpha) sin(theta) > 0."""
    phi = [mp.atan2(1 - x, x) for x in alpha]
    return max(phi) - mp.pi / 2, min(phi) + mp.pi / 2


def rule_on_arc(g, theta):
    """The admissible rule at an angle."""
    a, b = mp.sin(theta), mp.cos(theta)
    # Nearly singular by design close to the ends, hence the spare digits.
    with mp.workdps(100):
        w = mp.lu_solve(g.S2 * a + g.S1 * b, g.m1 - g.m2)
    return w, dot(w, g.m1) - b * deviation(g.S1, w) ** 2


def minimax_error(g):
    """The error rate of the rule at which both are equal, by bisection."""
    a, b = mp.mpf(0), mp.pi / 2
    while b - a > mp.mpf("1e-40"):
        theta = (a + b) / 2
        e1, e2 = errors_of(g, *rule_on_arc(g, theta))
        a, b = (theta, b) if e1 < e2 else (a, theta)
    return e1


def optimum(g):
    """Global minimum of the error over all linear rules."""
    d = len(g.m1)
    delta = g.m1 - g.m2
    alpha, V = pencil(g)
    c = V.T * delta

    if not any(delta):
        # Nothing but the variances can tell the classes apart.
        rules = [V[:, i] * s for i in range(d) for s in (1, -1)]
        error = min(
            (error_of(g, w, w0) for w in rules for w0 in stationary_thresholds(g, w)),
            default=g.trivial_error,
        )
        return Optimum(min(error, g.trivial_error), error, None, 0)

    low, high = ends_of_arc(alpha)
    steps = [(high - low) * x for x in geometric(1e-26, 0.5, 110)]
    grid = [low + x for x in steps] + [high - x for x in steps[-2::-1]]
    error, theta, minima = minimize(lambda x: error_of(g, *rule_on_arc(g, x)), grid)

    # Beyond an end whose pole has no component of delta the admissible rules go on
    # along the eigenvectors of the pole.
    size = mp.sqrt(dot(c, c))
    for end, pole in ((low, alpha.index(min(alpha))), (high, alpha.index(max(alpha)))):
        at_pole = [abs(x - alpha[pole]) < mp.mpf("1e-35") for x in alpha]
        if any(abs(c[i]) > size * mp.mpf("1e-35") for i in range(d) if at_pole[i]):
            continue
        a, b = mp.sin(end), mp.cos(end)
        shares = [
            0 if at_pole[i] else c[i] / (b * alpha[i] + a * (1 - alpha[i]))
            for i in range(d)
        ]
        w_end = V * mp.matrix(shares)

        def beyond(eta, w_end=w_end, pole=pole, b=b):
            w = w_end + V[:, pole] * eta
            return error_of(g, w, dot(w, g.m1) - b * deviation(g.S1, w) ** 2)

        value, _, _ = minimize(beyond, [size * x for x in geometric(1e-8, 1e8, 60)])
        if value < error:
            error, theta = value, None

    return Optimum(min(error, g.trivial_error), error, theta, minima)


def rule_of(model):
    """The rule in the paper's sign: first class when w.x >= w0."""
    return mp.matrix((-model.coef_[0]).tolist()), mp.mpf(float(model.intercept_[0]))


def threshold_scale(g, w):
    """Distance of the projected means, or a deviation where that is larger.

    Between means that coincide, the deviations are the only length that there is.
    """
    distance = abs(dot(w, g.m1) - dot(w, g.m2))
    return max(distance, min(deviation(g.S1, w), deviation(g.S2, w)))
