/* The mathematics of the page "Explore": two Gaussian classes in the plane, LDA's rule,
   the linear rule of least error, and all admissible rules between the two ways of
   always giving the same answer.

   Symbols and bracketed equation numbers are those of the page "The theory". Class 1 is
   A, class 2 is B; a rule (w, w0) decides A where w.x >= w0. As in the library, a rule
   is handed out as coef = -w and intercept = w0, so that a positive score means B. */
(() => {
    "use strict";

    const EPS = 2 ** -52;
    const LEAST_VARIANCE = 1e-7; // share of S1 + S2 that stands for no variance
    const LIFT = 1e-30; // the hard case: see "The arc"
    const REACH = 300; // positions on the arc beyond which nothing changes
    const GAP = 1e-3; // relative gap to be proven
    const NO_GAIN = 1e-12; // a rule must beat the trivial one by this share
    const NEGLIGIBLE = 1e-9; // relative gain that is not worth another cut
    const MOST_CUTS = 1000; // where more are open all rules are alike
    const FLAT = 1e-10; // a slope below this share of its terms is zero
    const HALF = [0.5, 1.5, 3, 6, 12, 24, 48, 96, REACH];
    const START = [...HALF.map((x) => -x).reverse(), 0, ...HALF];

    const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
    const density = (z) => Math.exp(-0.5 * z * z) / Math.sqrt(2 * Math.PI);

    /* The normal distribution function: a series in the middle, a continued fraction in
       the tails, where it keeps its relative precision. */
    function Phi(z) {
        if (z > 3) return 1 - Phi(-z);
        if (z < -3) {
            let rest = 0;
            for (let k = 60; k > 0; k--) rest = k / (rest - z);
            return density(z) / (rest - z);
        }
        let sum = z;
        for (let k = 3, term = z; Math.abs(term) > EPS * Math.abs(sum); k += 2)
            sum += term *= (z * z) / k;
        return 0.5 + density(z) * sum;
    }

    /* Where a function that changes its sign from a to b is zero, by halving. */
    function root(f, a, b) {
        const below = f(a) < 0;
        for (;;) {
            const middle = 0.5 * (a + b);
            if (!(Math.min(a, b) < middle && middle < Math.max(a, b))) return middle;
            if (f(middle) < 0 === below) a = middle;
            else b = middle;
        }
    }

    const quantile = (q) =>
        q > 0.5 ? -quantile(1 - q) : root((z) => Phi(z) - q, -40, 0);

    /* The basis V in which both covariances are diagonal and sum to the identity, with
       alpha, beta and c = V'delta ("One factorisation for all rules"). */
    function pencil(means, covariances) {
        const features = [0, 1];
        const variance = features.map((i) => covariances[0][i][i] + covariances[1][i][i]);
        const scale = variance.map((v) => Math.sqrt(v) || 1);
        const delta = features.map((i) => {
            const offset = Math.max(Math.abs(means[0][i]), Math.abs(means[1][i]));
            const rounding = Math.min(4 * EPS * offset, 1e-6 * scale[i]);
            const d = means[0][i] - means[1][i];
            return Math.abs(d) > rounding + 64 * EPS * scale[i] ? d / scale[i] : 0;
        });
        const [S1, S2] = covariances.map((S) =>
            S.map((row, i) => row.map((v, j) => v / scale[i] / scale[j])));
        // S1 + S2 now is [[1, r], [r, 1]]; the columns of W make it the identity.
        const r = S1[0][1] + S2[0][1];
        const s = Math.max(Math.sqrt((1 - r) * (1 + r)), LEAST_VARIANCE) || 1;
        const W = [[1, 0], [-r / s, 1 / s]];
        const form = (S, v, w) => dot(v, S.map((row) => dot(row, w)));
        const m = W.map((v) => W.map((w) => form(S1, v, w)));
        const turn = 0.5 * Math.atan2(2 * m[0][1], m[0][0] - m[1][1]);
        const [cos, sin] = [Math.cos(turn), Math.sin(turn)];
        const columns = [[cos, sin], [-sin, cos]].map(([a, b]) => {
            const v = features.map((i) => a * W[0][i] + b * W[1][i]);
            // Quotients with the matrices themselves: small ones keep their digits.
            const [v1, v2] = [S1, S2].map((S) => Math.max(form(S, v, v), 0));
            const total = v1 + v2 || 1;
            const noise = [S1, S2].map((S) => Math.min(LEAST_VARIANCE, Math.max(64 * EPS,
                72 * EPS * dot(features.map((i) => S[i][i]), v.map((x) => x * x)) / total)));
            const none = [v1 / total <= noise[0], v2 / total <= noise[1]];
            const raised = (share, low) => (none[0] ? low : none[1] ? 1 - low : share);
            return {
                axis: v.map((x, i) => x / Math.sqrt(total) / scale[i]),
                alpha: raised(v1 / total, LEAST_VARIANCE),
                alpha0: raised(v1 / total, 0),
                beta: 1 - raised(1 - v2 / total, LEAST_VARIANCE),
                beta0: 1 - raised(1 - v2 / total, 0),
                c: dot(v, delta) / Math.sqrt(total),
                size: v.map((x) => Math.abs(x) / Math.sqrt(total)),
            };
        });
        const pick = (key) => columns.map((column) => column[key]);
        const [alpha, beta, alpha0, beta0] =
            ["alpha", "beta", "alpha0", "beta0"].map(pick);
        return { means, delta, alpha, beta, alpha0, beta0, c: pick("c"),
            axes: pick("axis"), sizes: pick("size") };
    }

    /* Mean difference D and deviations along w = V u. */
    function project(pair, u) {
        const square = u.map((value) => value * value);
        return [dot(u, pair.c), Math.sqrt(dot(square, pair.alpha)),
            Math.sqrt(dot(square, pair.beta))];
    }

    /* The arc of admissible rules. A place on it is x = ln(p / q), where p and q are the
       distances of theta from the two ends; a point costs O(d). */
    function arcOf(pair, [p1, p2]) {
        const { alpha, beta } = pair;
        const c = [...pair.c];
        const psi = alpha.map((a, i) => Math.atan2(a, beta[i]));
        const phi = alpha.map((a, i) => Math.atan2(beta[i], a));
        const lift = LIFT * (Math.max(...c.map(Math.abs)) || 1);
        for (const zeros of [psi, phi]) { // the hard case
            const pole = zeros.indexOf(Math.min(...zeros));
            const terms = dot(pair.sizes[pole], pair.delta.map(Math.abs));
            if (Math.abs(c[pole]) < Math.max(lift, 64 * EPS * terms)) {
                const size = pair.sizes[pole];
                const largest = pair.axes[pole][size.indexOf(Math.max(...size))];
                c[pole] = largest < 0 ? -lift : lift;
            }
        }
        const [low, high] = [Math.min(...psi), Math.min(...phi)];
        const length = low + high + Math.PI / 2;
        const r = alpha.map((a, i) => Math.hypot(a, beta[i]));
        const prior = Math.log(p1 / p2);
        return (x) => {
            const near = length / (1 + Math.exp(Math.abs(x)));
            const far = length - near;
            const [p, q] = x <= 0 ? [near, far] : [far, near];
            const [cos, sin] = [Math.sin(q - high), Math.sin(p - low)];
            const [beyond, end] = x <= 0 ? [psi, low] : [phi, high];
            const u = c.map((value, i) => // g_i, measured from the nearer end
                value / (r[i] * Math.sin(near + (beyond[i] - end))));
            const square = u.map((value) => value * value);
            const [v1, v2] = [dot(square, alpha), dot(square, beta)];
            const [y1, y2] = [Math.sqrt(v1) * cos, Math.sqrt(v2) * sin];
            const ratio = 0.5 * Math.log(v1 / v2);
            const h = prior - ratio - 0.5 * (y1 * y1 - y2 * y2); // (29)
            const slope = Math.abs(h) < FLAT * (1 + y1 * y1 + y2 * y2) ? 0 : h;
            return { x, u, cos, sin, v2, y1, y2, ratio, h, slope };
        };
    }

    /* A point of the arc with its error rates and its error (9). */
    function rate(point, [p1, p2]) {
        const [e1, e2] = [Phi(-point.y1), Phi(-point.y2)];
        return Object.assign(point, { e1, e2, error: p1 * e1 + p2 * e2 });
    }

    /* Whether the error provably has no minimum inside of a piece of the arc: y1, y2 and
       sigma1 / sigma2 are monotone, so h has bounds ("The certificate"). */
    function monotone(a, b, prior) {
        const most = (y) => Math.max(Math.abs(a[y]), Math.abs(b[y]));
        const least1 = Math.max(b.y1, -a.y1, 0), least2 = Math.max(a.y2, -b.y2, 0);
        return prior - b.ratio - 0.5 * (most("y1") ** 2 - least2 ** 2) > 0
            || prior - a.ratio - 0.5 * (least1 ** 2 - most("y2") ** 2) < 0;
    }

    /* The point of least error by branch and bound, and the least bound of all pieces. */
    function search(at, shares) {
        const [p1, p2] = shares;
        const prior = Math.log(p1 / p2);
        let best = { error: Math.min(p1, p2) }, lower = Infinity, cuts = 0;
        const consider = (x) => {
            const point = rate(at(x), shares);
            if (point.error < best.error) best = point;
            return point;
        };
        const minimum = (a, b) => consider(root((x) => at(x).h, a.x, b.x));
        const points = START.map(consider);
        const pieces = points.slice(1).map((b, i) => [points[i], b]);
        for (const [a, b] of pieces)
            if (a.slope < 0 && b.slope > 0) minimum(a, b);
        for (const [a, b] of pieces) { // grows while it is read
            const bound = p1 * a.e1 + p2 * b.e2;
            if (bound >= best.error || monotone(a, b, prior)) continue;
            const proven = bound >= best.error * (1 - GAP);
            if (proven && a.slope < 0 && b.slope > 0) minimum(a, b);
            else if (bound < best.error * (1 - NEGLIGIBLE) && cuts++ < MOST_CUTS) {
                const middle = consider(0.5 * (a.x + b.x));
                pieces.push([a, middle], [middle, b]);
                continue;
            }
            lower = Math.min(lower, bound);
        }
        return { best, gap: Math.max(0, 1 - Math.min(lower, best.error) / best.error) };
    }

    /* The threshold of least error along w, from the mean of class 2: (39). */
    function bestThreshold(D, s1, s2, logTau) {
        const L = logTau + Math.log(s1 / s2);
        const square = D * D + 2 * (s1 - s2) * (s1 + s2) * L;
        return s2 * s2 * (D * D + 2 * s1 * s1 * L)
            / (D * s2 * s2 + s1 * s2 * Math.sqrt(square));
    }

    /* All about a problem {means, covariances, priors, costs}; costs[k] is the price of a
       wrong decision about class k. */
    function solve({ means, covariances, priors, costs = [1, 1] }) {
        const total = priors[0] + priors[1];
        const p = priors.map((value) => value / total);
        const risk = p.map((value, k) => value * costs[k]);
        const shares = risk.map((value) => value / (risk[0] + risk[1]));
        const logTau = Math.log(shares[1] / shares[0]);
        const pair = pencil(means, covariances);
        const at = arcOf(pair, shares);

        const rated = (coef, intercept, rates) =>
            ({ coef, intercept, rates, error: dot(p, rates), risk: dot(risk, rates) });
        const always = () => { // the likelier class
            const second = logTau > 0 ? 1 : 0;
            return { ...rated([0, 0], logTau, [second, 1 - second]), trivial: true };
        };
        const rule = (u, t) => {
            const [D, s1, s2] = project(pair, u);
            if (!(s1 > 0 && s2 > 0) || Number.isNaN(t)) return always();
            const w = [0, 1].map((i) => u[0] * pair.axes[0][i] + u[1] * pair.axes[1][i]);
            const rates = [Phi((t - D) / s1), Phi(-t / s2)]; // (19), (20)
            return rated(w.map((value) => -value), dot(w, means[1]) + t, rates);
        };
        const scaled = (point) => { // as (11): weights of S1 and S2 that sum to one
            const size = point.cos + point.sin > 0 ? point.cos + point.sin : 1;
            return [point.u.map((value) => value * size),
                point.sin * size * point.v2];
        };

        // LDA: (7), with the pooled covariance.
        const fisher = pair.c.map((c, i) => c / (p[0] * pair.alpha0[i] + p[1] * pair.beta0[i]));
        const [D, s1, s2] = project(pair, fisher);
        const lda = rule(fisher, 0.5 * D + logTau);

        const { best: point, gap } = search(at, shares);
        let best = always();
        if (point.error < Math.min(...shares) * (1 - NO_GAIN)) {
            const [u, t0] = scaled(point);
            const t = bestThreshold(...project(pair, u), logTau);
            best = rule(u, Number.isNaN(t) ? t0 : t);
        }

        return {
            lda,
            best,
            gap,
            /* The admissible rule with the error rate q of class k (Neyman-Pearson). */
            frontierAt: (k, q) => {
                const y = -quantile(q), key = k === 0 ? "y1" : "y2";
                return rule(...scaled(at(root((x) => at(x)[key] - y, -REACH, REACH))));
            },
            /* LDA's normal with the threshold that gives class k the error rate q. */
            ldaAt: (k, q) =>
                rule(fisher, k === 0 ? D + s1 * quantile(q) : -s2 * quantile(q)),
            /* Points (e1, e2) no further apart than a step: the frontier, and what LDA's
               normal reaches by moving its threshold. */
            frontier: (step) => traced((x) => rate(at(x), shares), step),
            ldaCurve: (step) => traced((z) => {
                const t = 0.5 * D + 0.1 * z * Math.hypot(s1, s2);
                return s1 > 0 ? { e1: Phi((t - D) / s1), e2: Phi(-t / s2) }
                    : { e1: Phi(z), e2: Phi(-z) };
            }, step),
        };
    }

    /* A curve (e1, e2) of a parameter, cut finely enough to be drawn. */
    function traced(at, step) {
        const found = [];
        const trace = (a, pa, b, pb, depth) => {
            if (Math.abs(pa.e1 - pb.e1) + Math.abs(pa.e2 - pb.e2) > step && depth < 60) {
                const x = 0.5 * (a + b), middle = at(x);
                trace(a, pa, x, middle, depth + 1);
                trace(x, middle, b, pb, depth + 1);
            } else found.push([pb.e1, pb.e2]);
        };
        const [first, last] = [at(-REACH), at(REACH)];
        found.push([first.e1, first.e2]);
        trace(-REACH, first, REACH, last, 0);
        return found;
    }

    globalThis.heteroldaExplore = { solve, Phi, quantile };
})();
