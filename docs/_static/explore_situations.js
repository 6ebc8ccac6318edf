/* Situations of the page "Explore": how they are named, kept in an address, rounded to a
   problem and written down in Python. */
(() => {
    "use strict";

    const NAMES = ["A", "B"];
    const WORLD = { left: -6, top: 4.9, width: 14, height: 9 };
    const DEVIATIONS = [0.25, 3.2]; // least and most
    const RATES = [0.0005, 0.9995]; // of a class at the chosen point of the curve
    const COSTS = [1, 2, 3, 5, 10, 20, 50, 100];

    /* A class is [x, y, deviation, deviation, angle of the first axis in degrees]. */
    const PRESETS = [
        {
            name: "LDA 35.7 %, optimum 26.5 %",
            story: "A is tall, B is wide. LDA averages the two shapes, and its line fits "
                + "neither. Turn B upright and watch the lines approach each other.",
            a: [0, 0, Math.sqrt(1.5), Math.sqrt(0.3), 90],
            b: [1, 0.5, 2.517112, 0.405148, 13.490115],
        },
        {
            name: "Equal covariances: the two lines agree",
            story: "Both classes have the same shape, as LDA assumes, and LDA's line is the "
                + "best. Drag the end of any axis, and they separate.",
            a: [-0.6, -0.3, 1.7, 0.8, 30],
            b: [1.8, 0.9, 1.7, 0.8, 30],
        },
        {
            name: "A rare class: LDA calls nobody ill",
            story: "A is healthy; B, one in twenty, is ill. The means hardly differ, but "
                + "B varies more. LDA ignores that; the best line does not.",
            a: [0.4, -0.1, 1.25, 0.5, 96],
            b: [0.4, 0.5, 2.8, 0.8, 6],
            p: 95,
        },
        {
            name: "Same mean, different spread",
            story: "If the means are equal, LDA has no line. The best line cuts off one end "
                + "of the wider class, where it is nearly alone.",
            a: [1, 0.4, 1, 0.6, 90],
            b: [1, 0.4, 2.4, 0.9, 20],
        },
    ];

    const clamp = (value, [low, high]) => Math.min(Math.max(value, low), high);
    const rounded = (value, digits) => +value.toFixed(digits) || 0;
    const range = (start, length) => [start, start + length];

    function fromPreset({ a, b, p = 50, cost = 0 }) {
        // `at` is null for the least error, or [class, its error rate].
        return { classes: [[...a], [...b]], p, cost, at: null };
    }

    function toHash({ classes, p, cost, at }) {
        const [a, b] = classes.map((c) => c.map((v) => rounded(v, 6)).join(","));
        const chosen = at ? `&at=${NAMES[at[0]]},${at[1]}` : "";
        return `#a=${a}&b=${b}&p=${p}&cost=${cost}${chosen}`;
    }

    function fromHash(hash) {
        const given = new URLSearchParams(hash.slice(1));
        const number = (text) => (text.trim() ? Number(text) : NaN);
        const [a, b] = ["a", "b"].map((key) => (given.get(key) || "").split(",").map(number));
        const [p, cost] = [["p", "50"], ["cost", "0"]].map(([key, usual]) =>
            Math.round(number(given.get(key) ?? usual)));
        const classes = [a, b];
        if (classes.some((c) => c.length !== 5) || ![...a, ...b, p, cost].every(Number.isFinite))
            return null;
        const [name, q] = (given.get("at") || "").split(",");
        const k = NAMES.indexOf(name);
        return {
            classes: classes.map(([x, y, s1, s2, angle]) => [
                clamp(x, range(WORLD.left, WORLD.width)),
                clamp(y, range(WORLD.top - WORLD.height, WORLD.height)),
                clamp(s1, DEVIATIONS), clamp(s2, DEVIATIONS), angle % 360]),
            p: clamp(p, [1, 99]),
            cost: clamp(cost, [1 - COSTS.length, COSTS.length - 1]),
            at: k >= 0 && Number(q) > 0 ? [k, clamp(Number(q), RATES)] : null,
        };
    }

    /* Moments with few enough digits to be written down: the Python code has them, too. */
    function problem({ classes, p, cost }) {
        const price = COSTS[Math.abs(cost)];
        return {
            means: classes.map(([x, y]) => [rounded(x, 3), rounded(y, 3)]),
            covariances: classes.map(([, , s1, s2, degrees]) => {
                const angle = (degrees * Math.PI) / 180;
                const [c, s] = [Math.cos(angle), Math.sin(angle)];
                const [v1, v2] = [s1 * s1, s2 * s2];
                const mixed = rounded((v1 - v2) * c * s, 4);
                return [[rounded(v1 * c * c + v2 * s * s, 4), mixed],
                    [mixed, rounded(v1 * s * s + v2 * c * c, 4)]];
            }),
            priors: [p / 100, (100 - p) / 100],
            costs: cost < 0 ? [1, price] : [price, 1],
        };
    }

    function python({ means, covariances, costs }, { p, at }) {
        const written = (value) => JSON.stringify(value).replaceAll(",", ", ");
        const options = [];
        if (at) {
            const bound = `max_error={"${NAMES[at[0]]}": ${at[1]}}`;
            options.push(`criterion="neyman-pearson"`, bound);
        } else if (costs[0] !== costs[1])
            options.push(`costs={"A": {"B": ${costs[0]}}, "B": {"A": ${costs[1]}}}`);
        const model = (given) => `GaussianLinearDiscriminant(${given.join(", ")})`;
        const lda = at ? [] : [`lda = ${model([`solver="fisher"`, ...options])}`];
        const lines = [...lda, `best = ${model(options)}`].map((line) =>
            `${line.length < 66 ? line : line.replace("(", "(\n    ").replace(/\)$/, "\n)")
            }.fit_statistics(moments)`);
        const prints = (at ? ["best"] : ["lda", "best"]).map((name) =>
            `print(${name}.model_error_[0], ${name}.error_rates_[0])  # under the model`);
        return `from heterolda import ClassStatistics, GaussianLinearDiscriminant

moments = ClassStatistics.from_moments(
    classes=["A", "B"],
    counts=[${10 * p}, ${1000 - 10 * p}],
    means=${written(means)},
    covariances=${written(covariances)},
)
${lines.join("\n")}
${prints.join("\n")}
`;
    }

    Object.assign(globalThis.heteroldaExplore, { situations: { NAMES, WORLD, DEVIATIONS, RATES,
        COSTS, PRESETS, clamp, rounded, fromPreset, toHash, fromHash, problem, python } });
})();
