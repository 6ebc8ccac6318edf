/* The dial of the page "Explore": rules of all widths, from Algorithm 1 to Algorithm 2.
   The rows are drawn once; A has a second, small group beyond B, so it is not normal. */
(() => {
    "use strict";

    const { solve, Phi } = globalThis.heteroldaExplore;
    const SEED = 39595, N_ROWS = 60, N_OTHERS = 4000, N_STEPS = 20, LEAST = 0.002;
    const WORLD = { left: -4.5, top: 5, width: 11, height: 9 };
    const { clamp } = globalThis.heteroldaExplore.situations;
    const width = (step) => LEAST ** (step / N_STEPS); // from 1 down

    /* ------------------------------------------------------------------ the rows */

    function generator(seed) { // of numbers in (0, 1): a generator of Park and Miller
        let state = seed;
        return () => (state = (48271 * state) % 2147483647) / 2147483647;
    }

    function draw(n, random) {
        const normal = () =>
            Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());
        return Array.from({ length: n }, (_, i) => {
            const [second, beyond, u, v] = [i % 2, random() < 0.15, normal(), normal()];
            if (second) return { k: 1, x: [1.2 + u, -0.3 + 1.1 * v] };
            return { k: 0, x: beyond ? [4.2 + 0.7 * u, 2.6 + 0.6 * v] : [-1.1 + 0.8 * u, 1.3 * v] };
        });
    }

    function momentsOf(rows) {
        return [0, 1].map((k) => {
            const own = rows.filter((row) => row.k === k).map((row) => row.x);
            const mean = [0, 1].map((i) => own.reduce((sum, x) => sum + x[i], 0) / own.length);
            const covariance = [0, 1].map((i) => [0, 1].map((j) => own.reduce((sum, x) =>
                sum + (x[i] - mean[i]) * (x[j] - mean[j]), 0) / (own.length - 1)));
            return { n: own.length, mean, covariance };
        });
    }

    /* ------------------------------------------------------------- the smoothed error */

    /* A rule is [angle of w, w0]: class A where w.x >= w0. */
    const normalOf = ([angle]) => [Math.cos(angle), Math.sin(angle)];
    const dot = ([a, b], [c, d]) => a * c + b * d;

    function smoothedError(rows, moments, h, rule) {
        const w = normalOf(rule), narrow = Math.sqrt(1 - h * h);
        const parts = moments.map(({ n, mean, covariance: S }) => ({
            n, at: dot(w, mean), sd: Math.sqrt(dot(w, S.map((row) => dot(row, w)))) }));
        return rows.reduce((sum, { k, x }) => {
            const { n, at, sd } = parts[k];
            const z = (rule[1] - at - narrow * (dot(w, x) - at)) / (h * sd);
            return sum + Phi(clamp(k ? -z : z, [-6, 6])) / n / 2; // 1e-9 is nothing here
        }, 0);
    }

    /* A minimum by the simplex of Nelder and Mead, from a rule. */
    function minimum(f, start) {
        let points = [start, [start[0] + 0.1, start[1]], [start[0], start[1] + 0.2]]
            .map((at) => ({ at, value: f(at) }));
        const along = (from, to, t) => from.map((v, i) => v + t * (to[i] - v));
        for (let step = 0; step < 40; step++) {
            points.sort((one, two) => one.value - two.value);
            const [best, good, worst] = points;
            const middle = along(best.at, good.at, 0.5);
            const tried = (t) => {
                const at = along(middle, worst.at, t);
                return { at, value: f(at) };
            };
            let next = tried(-1);
            if (next.value < best.value) {
                const further = tried(-2);
                if (further.value < next.value) next = further;
            } else if (next.value >= good.value) {
                const inside = tried(next.value < worst.value ? -0.5 : 0.5);
                if (inside.value < Math.min(next.value, worst.value)) next = inside;
                else if (next.value >= worst.value) next = null;
            }
            points = next ? [best, good, next]
                : points.map(({ at }) => along(best.at, at, 0.5)).map((at) => ({ at, value: f(at) }));
        }
        return points.sort((one, two) => one.value - two.value)[0].at;
    }

    const share = (rows, rule) => rows.filter(({ k, x }) =>
        (dot(normalOf(rule), x) >= rule[1]) === (k === 1)).length / rows.length;

    /* The rules of all widths, each from the one before; the first is certified. */
    function path() {
        const random = generator(SEED);
        const rows = draw(N_ROWS, random), others = draw(N_OTHERS, random);
        const moments = momentsOf(rows);
        const { coef, intercept } = solve({ means: moments.map(({ mean }) => mean),
            covariances: moments.map(({ covariance }) => covariance), priors: [0.5, 0.5] }).best;
        let rule = [Math.atan2(-coef[1], -coef[0]), intercept / Math.hypot(...coef)];
        const rules = [];
        for (let step = 0; step <= N_STEPS; step++) {
            const h = width(step);
            const error = (at) => smoothedError(rows, moments, h, at);
            if (step) rule = minimum(error, rule);
            rules.push({ h, rule, error: error(rule), wrong: share(rows, rule),
                others: share(others, rule) });
        }
        return { rows, rules };
    }

    globalThis.heteroldaExplore.dial = path;
    if (!globalThis.document) return;

    /* ------------------------------------------------------------------ the page */

    const host = document.querySelector("div.dial");
    const percent = (value) => `${(100 * value).toFixed(1)} %`;
    host.innerHTML = `<div class="dial-main">
        <svg viewBox="0 0 440 360" role="img" aria-label="Rows of two classes and the line"></svg>
        <svg viewBox="0 0 300 240" role="img" aria-label="Errors by width"></svg></div>
        <label><span></span><input type="range" min="0" max="${N_STEPS}" value="0"></label>
        <p role="status"></p>`;
    const [plane, curve] = host.querySelectorAll("svg");
    const input = host.querySelector("input");
    const { rows, rules } = path();

    function make(parent, tag, attributes, text = "") {
        const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
        for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
        node.textContent = text;
        return parent.appendChild(node);
    }

    const unit = 440 / WORLD.width;
    const place = ([x, y]) => [(x - WORLD.left) * unit, (WORLD.top - y) * unit];
    const dots = rows.map(({ k, x }) => {
        const [cx, cy] = place(x);
        return make(plane, "circle", { class: `row ${"ab"[k]}`, cx, cy, r: 4 });
    });
    const line = make(plane, "path", { class: "best" });

    const most = Math.max(...rules.map(({ wrong, others }) => Math.max(wrong, others)));
    const left = 56, right = 288, low = 200;
    const across = (step) => left + ((right - left) * step) / N_STEPS;
    const up = (value) => low - (180 * value) / most;
    make(curve, "path", { class: "grid", d: `M${left} ${up(0)}H${right}M${left} ${up(most)}H${right}` });
    make(curve, "text", { class: "quiet", x: left - 9, y: up(0) + 4, "text-anchor": "end" }, "0 %");
    make(curve, "text", { class: "quiet", x: left - 9, y: up(most) + 4, "text-anchor": "end" },
        percent(most));
    make(curve, "text", { class: "quiet", x: left, y: 220 }, "1: Algorithm 1");
    make(curve, "text", { class: "quiet", x: right, y: 236, "text-anchor": "end" },
        "0.002: Algorithm 2");
    for (const [kind, key] of [["lda", "wrong"], ["best", "others"]])
        make(curve, "path", { class: kind,
            d: `M${rules.map((one, step) => `${across(step)} ${up(one[key])}`).join("L")}` });
    const marks = ["wrong", "others"].map(() => make(curve, "circle", { class: "mark", r: 5 }));

    function show() {
        const step = Number(input.value);
        const { h, rule, wrong, others } = rules[step];
        const w = normalOf(rule), far = 20;
        const ends = [-far, far].map((t) => place([rule[1] * w[0] - t * w[1], rule[1] * w[1] + t * w[0]]));
        line.setAttribute("d", `M${ends.join("L")}`);
        rows.forEach(({ k, x }, i) =>
            dots[i].classList.toggle("wrong", (dot(w, x) >= rule[1]) === (k === 1)));
        [wrong, others].forEach((value, i) => {
            marks[i].setAttribute("cx", across(step));
            marks[i].setAttribute("cy", up(value));
        });
        const name = h === 1 ? "1" : h.toPrecision(2);
        host.querySelector("label span").textContent = `Width ${name}`;
        host.querySelector("[role=status]").textContent = `Width ${name}: misclassifies `
            + `${percent(wrong)} of the ${N_ROWS} rows shown and ${percent(others)} of `
            + `${N_OTHERS.toLocaleString("en")} other rows.`;
    }

    input.addEventListener("input", show);
    show();
})();
