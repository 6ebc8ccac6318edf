/* The page "Explore": its pictures, its handles and its text. */
(() => {
    "use strict";

    const { solve } = globalThis.heteroldaExplore;
    const { NAMES, WORLD, DEVIATIONS, RATES, COSTS, PRESETS, clamp, rounded, fromPreset, toHash,
        fromHash, problem, python } = globalThis.heteroldaExplore.situations;
    const N_DOTS = 400;
    const MARGIN = { left: 62, right: 12, top: 10, bottom: 46 }; // of the curve

    let state, preset, start; // the situation, its example or null, how it began

    /* ------------------------------------------------------------------ the page */

    const host = document.querySelector("div.explore");
    const swatch = (kind) => `<svg viewBox="0 0 34 10" aria-hidden="true">
        <path class="${kind}" d="M0 5H34"/></svg>`;
    const card = (kind, name) => `<div class="explore-rule" data-rule="${kind}">
        ${swatch(kind)}<span>${name}</span>
        <span class="explore-total"><span data-total></span> <small data-unit></small></span>
        <span class="explore-bar" aria-hidden="true"><i></i><i></i></span>
        <span class="explore-each"><span class="text-a"></span> ·
            <span class="text-b"></span></span></div>`;
    const slider = (name, limits) => `<label><span data-text="${name}"></span>
        <input type="range" data-input="${name}" min="${limits[0]}" max="${limits[1]}"></label>`;
    host.innerHTML = `
        <div class="explore-presets" role="group" aria-label="Examples">
            ${PRESETS.map(({ name }) => `<button type="button">${name}</button>`).join("")}</div>
        <p class="explore-story"></p>
        <div class="explore-main">
            <div class="explore-plane">
                <div class="explore-frame"><canvas></canvas>
                    <svg role="group" aria-label="The plane with both classes and both lines"></svg></div>
                <p class="explore-hint">Drag the means and the ends of the axes. Or press Tab to
                    reach one, the arrow keys to move it, + and − to make it larger or smaller.</p>
            </div>
            <div class="explore-numbers">${card("lda", "LDA’s line")}${card("best", "Best line")}
                <p class="explore-verdict"></p></div>
            <div class="explore-curve"><svg role="group"
                aria-label="Trade-off between the error rates of the two classes"></svg>
                <button type="button" data-do="least">Back to the optimum</button></div>
            <div class="explore-controls">
                ${slider("p", [1, 99])}${slider("cost", [1 - COSTS.length, COSTS.length - 1])}
                <div class="explore-actions">
                    <button type="button" data-do="reset">Reset</button>
                    <button type="button" data-do="share">Copy link</button></div>
            </div>
        </div>
        <p class="visually-hidden" role="status"></p>
        <div class="explore-code"><p></p>
            <div class="highlight"><pre tabindex="0"></pre></div></div>`;
    const one = (selector, within = host) => within.querySelector(selector);
    const [plane, curve] = host.querySelectorAll(".explore-frame svg, .explore-curve svg");
    const canvas = one("canvas");
    const pen = canvas.getContext("2d");

    function make(parent, tag, attributes = {}, text = "") {
        const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
        set(node, attributes);
        node.textContent = text;
        return parent.appendChild(node);
    }

    function set(node, attributes) {
        for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    }

    const path = (points) => `M${points.map((p) => p.map((v) => v.toFixed(2))).join("L")}`;

    const drawn = {
        sides: ["a", "b"].map((k) => make(plane, "path", { class: `side ${k}` })),
        classes: ["a", "b"].map((k) => ({
            outer: make(plane, "ellipse", { class: `ellipse ${k}` }),
            inner: make(plane, "ellipse", { class: `ellipse inner ${k}` }),
            axes: make(plane, "path", { class: `axis ${k}` }),
        })),
        lda: make(plane, "path", { class: "lda" }),
        best: make(plane, "path", { class: "best" }),
        labels: { lda: make(plane, "text", { class: "halo" }),
            best: make(plane, "text", { class: "halo" }) },
        unreachable: make(curve, "path", { class: "unreachable" }),
        grid: make(curve, "path", { class: "grid" }),
        ticks: [0, 50, 100].map((v) => ["middle", "end"].map((anchor) =>
            make(curve, "text", { class: "quiet", "text-anchor": anchor }, `${v} %`))),
        titles: [
            make(curve, "text", { class: "text-a", "text-anchor": "middle" }, "A wrong"),
            make(curve, "text", { class: "text-b", "text-anchor": "middle" }, "B wrong"),
        ],
        empty: make(curve, "text", { class: "quiet" }, "out of reach"),
        ldaCurve: make(curve, "path", { class: "lda" }),
        frontier: make(curve, "path", { class: "best" }),
        mark: make(curve, "path", { class: "mark" }),
    };

    /* Positions in pixels. */
    let unit = 1, size = 1; // pixels of a unit of the plane; of the side of the curve
    const toPlane = ([x, y]) => [(x - WORLD.left) * unit, (WORLD.top - y) * unit];
    const toWorld = ([x, y]) => [x / unit + WORLD.left, WORLD.top - y / unit];
    const toCurve = ([e1, e2]) => [MARGIN.left + e1 * size, MARGIN.top + (1 - e2) * size];
    const frame = () => [[0, 0], [WORLD.width * unit, 0],
        [WORLD.width * unit, WORLD.height * unit], [0, WORLD.height * unit]];

    /* ------------------------------------------------------------------- handles */

    let drag = null; // the handle, and where the pointer took hold of it
    let now = null; // the problem, its solution and both rules as they are drawn

    function direction([, , , , degrees], j) {
        const angle = ((degrees + 90 * j) * Math.PI) / 180;
        return [Math.cos(angle), Math.sin(angle)];
    }

    /* Of both ends of an axis the one that can be seen; the same while it is dragged. */
    function axisEnd(k, j) {
        const [x, y] = state.classes[k];
        const reach = 2 * state.classes[k][2 + j];
        const [dx, dy] = direction(state.classes[k], j);
        const place = (sign) => [x + sign * reach * dx, y + sign * reach * dy];
        const seen = ([u, v]) => Math.min(u - WORLD.left, WORLD.left + WORLD.width - u,
            WORLD.top - v, v - WORLD.top + WORLD.height);
        const ends = [place(1), place(-1)];
        const held = drag && drag.handle === handles[3 * k + 1 + j];
        const sign = held ? drag.sign : seen(ends[0]) > 0 || seen(ends[0]) > seen(ends[1]) ? 1 : -1;
        return { place: place(sign), sign };
    }

    function meanHandle(k) {
        const other = () => state.classes[1 - k];
        return {
            svg: plane, kind: NAMES[k].toLowerCase(), text: NAMES[k],
            label: `Mean of class ${NAMES[k]}`,
            at: () => toPlane(state.classes[k]),
            value: () => state.classes[k].slice(0, 2),
            move(place, byHand) {
                const gap = Math.hypot(place[0] - other()[0], place[1] - other()[1]);
                if (byHand && gap * unit < 6) place = other(); // equal means are a case of their own
                state.classes[k][0] = rounded(clamp(place[0],
                    [WORLD.left + 0.3, WORLD.left + WORLD.width - 0.3]), 2);
                state.classes[k][1] = rounded(clamp(place[1],
                    [WORLD.top - WORLD.height + 0.3, WORLD.top - 0.3]), 2);
            },
            scale(factor) {
                for (const j of [2, 3]) stretch(k, j, state.classes[k][j] * factor);
            },
        };
    }

    function stretch(k, j, deviation) {
        state.classes[k][j] = rounded(clamp(deviation, DEVIATIONS), 3);
    }

    function axisHandle(k, j) {
        return {
            svg: plane, kind: `end ${NAMES[k].toLowerCase()}`, text: "",
            label: `${j === 0 ? "First" : "Second"} axis of class ${NAMES[k]}`,
            at: () => toPlane(axisEnd(k, j).place),
            value: () => axisEnd(k, j).place,
            sign: () => axisEnd(k, j).sign,
            move(place) {
                const [x, y] = state.classes[k];
                const { sign } = axisEnd(k, j);
                const [dx, dy] = [sign * (place[0] - x), sign * (place[1] - y)];
                stretch(k, 2 + j, Math.hypot(dx, dy) / 2);
                if (Math.hypot(dx, dy) < 0.05) return;
                const degrees = (Math.atan2(dy, dx) * 180) / Math.PI - 90 * j;
                state.classes[k][4] = rounded(((degrees + 540) % 360) - 180, 2);
            },
            scale: (factor) => stretch(k, 2 + j, state.classes[k][2 + j] * factor),
        };
    }

    function choose(k, q) {
        state.at = [k, rounded(clamp(q, RATES), 4)];
    }

    const pointHandle = {
        svg: curve, kind: "point", text: "",
        label: "Chosen point of the trade-off",
        at: () => toCurve(now.best.rates),
        value: () => now.best.rates.map((e) => 100 * e),
        /* To the point of the frontier that is nearest. */
        move([x, y]) {
            let nearest = [Infinity];
            for (let i = 1; i < now.frontier.length; i++) {
                const [a, b] = [now.frontier[i - 1], now.frontier[i]];
                const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
                const share = clamp(((x - a[0]) * dx + (y - a[1]) * dy)
                    / (dx * dx + dy * dy || 1), [0, 1]);
                const [e1, e2] = [a[0] + share * dx, a[1] + share * dy];
                const distance = Math.hypot(e1 - x, e2 - y);
                if (distance < nearest[0]) nearest = [distance, e1, e2];
            }
            // The larger of the two rates tells the place more exactly.
            if (nearest[1] > nearest[2]) choose(0, nearest[1]);
            else choose(1, nearest[2]);
        },
        nudge(dx, dy) {
            const k = dx ? 0 : 1;
            choose(k, now.best.rates[k] + 0.1 * (dx || dy));
        },
        scale() {},
    };

    const handles = [0, 1].flatMap((k) => [meanHandle(k), axisHandle(k, 0), axisHandle(k, 1)]);
    handles.push(pointHandle);
    for (const handle of handles) {
        const node = make(handle.svg, "g", { class: `handle ${handle.kind}`, tabindex: 0,
            role: "slider", "aria-label": handle.label });
        const mean = handle.text !== "";
        make(node, "circle", { class: "reach", r: 18 });
        make(node, "circle", { class: "dot", r: mean ? 10 : handle === pointHandle ? 8 : 6 });
        if (mean) make(node, "text", { y: 4.2 }, handle.text);
        node.addEventListener("keydown", (event) => byKey(handle, event));
        handle.node = node;
    }

    const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

    function byKey(handle, event) {
        if (event.ctrlKey || event.altKey || event.metaKey) return;
        const step = event.shiftKey ? 0.5 : 0.1;
        if (KEYS[event.key]) {
            const [dx, dy] = KEYS[event.key].map((sign) => sign * step);
            if (handle.nudge) handle.nudge(dx, dy);
            else {
                const [x, y] = handle.value();
                handle.move([x + dx, y + dy], false);
            }
        } else if ("+=".includes(event.key)) handle.scale(1.05);
        else if ("-−_".includes(event.key)) handle.scale(1 / 1.05);
        else if (event.key === "Escape") state.at = null;
        else return;
        event.preventDefault();
        changed();
    }

    function pointer(svg, event) {
        const box = svg.getBoundingClientRect();
        return [event.clientX - box.left, event.clientY - box.top];
    }

    for (const svg of [plane, curve]) {
        svg.addEventListener("pointerdown", (event) => {
            if (event.button || drag) return;
            const [x, y] = pointer(svg, event);
            const near = handles.filter((handle) => handle.svg === svg).map((handle) => {
                const [u, v] = handle.at();
                return { handle, grip: [u - x, v - y], far: Math.hypot(u - x, v - y) };
            }).sort((one, two) => one.far - two.far)[0];
            let held = near; // of handles the nearest, not the topmost
            if (event.pointerType === "mouse" && event.target.matches(".inner")) {
                // The inside of an ellipse moves it, by mouse: a finger scrolls the page.
                const k = drawn.classes.findIndex(({ inner }) => inner === event.target);
                const [u, v] = handles[3 * k].at();
                held = { handle: handles[3 * k], grip: [u - x, v - y] };
            } else if (!event.target.closest(".handle")) return;
            drag = { ...held, sign: held.handle.sign?.(), pointer: event.pointerId };
            svg.setPointerCapture(event.pointerId);
            drag.handle.node.focus({ focusVisible: false, preventScroll: true });
            event.preventDefault();
        });
        // A finger on a handle does not scroll; SVG does not know `touch-action`.
        svg.addEventListener("touchstart", (event) => {
            if (event.target.closest(".handle")) event.preventDefault();
        }, { passive: false });
        svg.addEventListener("pointermove", (event) => {
            if (!drag || drag.pointer !== event.pointerId) return;
            const [x, y] = pointer(svg, event);
            const place = [x + drag.grip[0], y + drag.grip[1]];
            if (svg === plane) {
                const [width, height] = [WORLD.width * unit, WORLD.height * unit];
                const inside = [clamp(place[0], [8, width - 8]), clamp(place[1], [8, height - 8])];
                drag.handle.move(toWorld(inside), true);
            } else {
                drag.handle.move([(place[0] - MARGIN.left) / size,
                    1 - (place[1] - MARGIN.top) / size]);
            }
            changed();
        });
        for (const end of ["pointerup", "pointercancel", "lostpointercapture"])
            svg.addEventListener(end, (event) => {
                if (drag && drag.pointer === event.pointerId) drag = null;
            });
    }

    /* ------------------------------------------------------------------- drawing */

    /* Corners of the frame on one side of a rule, and where its line meets the frame. */
    function divide({ coef, intercept }) {
        const corners = frame();
        const score = (place) => {
            const [x, y] = toWorld(place);
            return coef[0] * x + coef[1] * y + intercept;
        };
        const sides = [[], []], line = [];
        corners.forEach((corner, i) => {
            const next = corners[(i + 1) % 4];
            const [s, t] = [score(corner), score(next)];
            sides[s > 0 ? 1 : 0].push(corner);
            if (s > 0 !== t > 0) {
                const share = s / (s - t);
                const cut = corner.map((v, j) => v + share * (next[j] - v));
                line.push(cut);
                sides.forEach((side) => side.push(cut));
            }
        });
        return { sides, line };
    }

    /* Standard normal draws, the same for everybody. */
    const draws = [0, 1].map((k) => {
        let seed = 12345 + 678 * k;
        const uniform = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
        return Array.from({ length: N_DOTS }, () => {
            const radius = Math.sqrt(-2 * Math.log(uniform())), angle = 2 * Math.PI * uniform();
            return [radius * Math.cos(angle), radius * Math.sin(angle)];
        });
    });
    let colors = [];

    function drawDots({ coef, intercept }) {
        pen.clearRect(0, 0, WORLD.width * unit, WORLD.height * unit);
        state.classes.forEach((given, k) => {
            const [x, y, s1, s2] = given;
            const [c, s] = direction(given, 0);
            const count = Math.round((N_DOTS * (k === 0 ? state.p : 100 - state.p)) / 100);
            const dots = new Path2D(), crosses = new Path2D();
            for (const [z1, z2] of draws[k].slice(0, count)) {
                const u = x + s1 * z1 * c - s2 * z2 * s, v = y + s1 * z1 * s + s2 * z2 * c;
                const [px, py] = toPlane([u, v]);
                if (coef[0] * u + coef[1] * v + intercept > 0 === (k === 1)) {
                    dots.moveTo(px + 2, py);
                    dots.arc(px, py, 2, 0, 2 * Math.PI);
                } else {
                    crosses.moveTo(px - 2.6, py - 2.6);
                    crosses.lineTo(px + 2.6, py + 2.6);
                    crosses.moveTo(px - 2.6, py + 2.6);
                    crosses.lineTo(px + 2.6, py - 2.6);
                }
            }
            pen.fillStyle = pen.strokeStyle = colors[k];
            pen.globalAlpha = 0.38;
            pen.fill(dots);
            pen.globalAlpha = 0.9;
            pen.lineWidth = 1.3;
            pen.stroke(crosses);
        });
    }

    function drawPlane() {
        state.classes.forEach((given, k) => {
            const [x, y] = toPlane(given);
            const { outer, inner, axes } = drawn.classes[k];
            const transform = `translate(${x} ${y}) rotate(${-given[4]})`;
            const [rx, ry] = [given[2] * unit, given[3] * unit];
            set(inner, { rx, ry, transform });
            set(outer, { rx: 2 * rx, ry: 2 * ry, transform });
            const ends = [0, 1].map((j) => toPlane(axisEnd(k, j).place));
            set(axes, { d: ends.map((end) => path([[x, y], end])).join("") });
        });
        const whole = frame();
        for (const kind of ["lda", "best"]) {
            const { sides, line } = divide(now[kind]);
            if (kind === "best")
                sides.forEach((side, k) => set(drawn.sides[k],
                    { d: side.length > 2 ? `${path(side)}Z` : "" }));
            set(drawn[kind], { d: line.length === 2 ? path(line) : "" });
            label(kind, line, sides[0].length > sides[1].length ? 0 : 1, whole[2]);
        }
    }

    /* Next to the upper end of the best line and the lower end of LDA's. */
    function label(kind, line, side, [width, height]) {
        const node = drawn.labels[kind];
        const name = kind === "lda" ? "LDA" : "best line";
        if (line.length < 2) { // not in sight
            node.textContent = `${kind === "lda" ? "LDA" : "best"}: all ${NAMES[side]}`;
            set(node, { x: 12, y: height - (kind === "lda" ? 12 : 32), "text-anchor": "start" });
            return;
        }
        const upper = line[0][1] < line[1][1] ? 0 : 1;
        const [end, other] = kind === "best" ? [line[upper], line[1 - upper]]
            : [line[1 - upper], line[upper]];
        const length = Math.hypot(other[0] - end[0], other[1] - end[1]) || 1;
        const along = [(other[0] - end[0]) / length, (other[1] - end[1]) / length];
        const inset = Math.min(20, length / 2);
        const x = end[0] + inset * along[0], y = end[1] + inset * along[1];
        const right = x < width / 2; // of the line is the middle of the picture
        const above = kind === "best" ? 1 : -1;
        const flat = Math.abs(along[0]) > 0.8;
        const aside = 9 + Math.min(20, 14 * Math.abs(along[0] / (along[1] || 1)));
        node.textContent = name;
        set(node, {
            x: x + (right ? aside : -aside),
            y: clamp(flat ? y + (kind === "best" ? -9 : 19) : y + 4 + 3 * above, [18, height - 10]),
            "text-anchor": right ? "start" : "end",
        });
    }

    function drawCurve() {
        const corner = toCurve([0, 0]);
        const frontier = path(now.frontier.map(toCurve));
        set(drawn.frontier, { d: frontier });
        set(drawn.unreachable, { d: `${frontier}L${corner}Z` });
        set(drawn.ldaCurve, { d: path(now.solution.ldaCurve(0.02).map(toCurve)) });
        const [x, y] = toCurve(now.lda.rates);
        set(drawn.mark, { d: path([[x - 6, y], [x, y - 6], [x + 6, y], [x, y + 6]]) + "Z" });
        const room = now.frontier.every(([e1, e2]) => e2 > 0.12 || e1 > 0.45);
        set(drawn.empty, { visibility: room ? "visible" : "hidden" });
    }

    /* ---------------------------------------------------------------------- text */

    function percent(share) {
        const text = (100 * share).toFixed(1);
        return share > 0 && text === "0.0" ? "< 0.1 %" : `${text} %`;
    }

    const write = (node, text) => {
        if (node.textContent !== text) node.textContent = text;
    };

    function verdict({ lda, best }) {
        const { p, cost, at } = state;
        if (at) {
            const [k, q] = at;
            return `With ${percent(q)} of ${NAMES[k]} misclassified, LDA’s line misclassifies `
                + `${percent(lda.rates[1 - k])} of ${NAMES[1 - k]}, the best line `
                + `${percent(best.rates[1 - k])}.`;
        }
        if (best.trivial)
            return `No line beats calling everything ${NAMES[best.rates[0] > 0 ? 1 : 0]}.`;
        const missed = lda.rates.findIndex((rate) => rate > 0.99);
        if (missed >= 0 && best.rates[missed] < 0.95) {
            const all = lda.rates[missed] > 0.9995;
            return `LDA${lda.trivial ? " has no line: it" : ""} calls ${all ? "" : "nearly "}`
                + `everything ${NAMES[1 - missed]} and misses `
                + `${all ? "all" : percent(lda.rates[missed])} of ${NAMES[missed]}. The best `
                + `line misses ${percent(best.rates[missed])}.`;
        }
        const more = lda.risk / best.risk - 1;
        if (more < 0.002 || lda.risk - best.risk < 5e-5)
            return lda.rates.every((rate, k) => percent(rate) === percent(best.rates[k]))
                ? "The two lines agree: here LDA is as good as a line can be."
                : "The two lines are equally good.";
        const how = more > 1 ? `${(more + 1).toFixed(1)} times as ${cost ? "much" : "many errors"}`
            : `${(100 * more).toFixed(more < 0.1 ? 1 : 0)} % more${cost ? "" : " errors"}`;
        return cost ? `LDA’s errors cost ${how}${more > 1 ? " as" : " than"} those of the best line.`
            : `LDA makes ${how}${more > 1 ? " as" : " than"} the best line.`;
    }

    function writeText() {
        const { priors, costs } = now.given;
        const spoken = [];
        const full = Math.max(0.5, now.lda.risk, now.best.risk);
        for (const kind of ["lda", "best"]) {
            const rule = now[kind], node = one(`[data-rule="${kind}"]`);
            const total = state.cost ? rule.risk.toFixed(3) : percent(rule.error);
            const unitName = state.cost ? "mean cost" : "wrong";
            write(one("[data-total]", node), total);
            write(one("[data-unit]", node), unitName);
            const each = rule.rates.map((rate, k) => `${NAMES[k]} ${percent(rate)}`);
            node.querySelectorAll(".explore-each > span").forEach((span, k) => write(span, each[k]));
            node.querySelectorAll(".explore-bar i").forEach((part, k) => {
                part.style.width = `${(100 * priors[k] * costs[k] * rule.rates[k]) / full}%`;
            });
            spoken.push(`${kind === "lda" ? "LDA’s line" : "Best line"}: ${percent(rule.error)} `
                + `wrong${state.cost ? `, mean cost ${total}` : ""} (${each.join(", ")}).`);
        }
        write(one(".explore-verdict"), verdict(now));
        write(one(`[data-text="p"]`), `Share: ${state.p} % A, ${100 - state.p} % B`);
        const price = COSTS[Math.abs(state.cost)];
        const [dear, cheap] = state.cost < 0 ? ["B", "A"] : NAMES;
        write(one(`[data-text="cost"]`), `Cost: 1 wrong ${dear} = ${price} wrong ${cheap}`);
        for (const key of ["p", "cost"]) {
            const input = one(`[data-input="${key}"]`);
            if (+input.value !== state[key]) input.value = state[key];
            input.setAttribute("aria-valuetext", one(`[data-text="${key}"]`).textContent);
        }
        one(`[data-do="least"]`).disabled = !state.at;
        write(one(".explore-code p"), state.at ? "The best line at this point, in Python:"
            : "Both lines in Python:");
        write(one(".explore-code pre"), python(now.given, state));
        return `${spoken.join(" ")} ${one(".explore-verdict").textContent}`;
    }

    /* ------------------------------------------------------------------- updates */

    let waiting = 0, settled = 0, nFrames = 0;

    /* Solve and draw: what has to be done within a frame. */
    function update() {
        waiting = 0;
        nFrames += 1;
        const given = problem(state);
        const solution = solve(given);
        const { lda, best } = state.at ? { lda: solution.ldaAt(...state.at),
            best: solution.frontierAt(...state.at) } : solution;
        now = { given, solution, lda, best, frontier: solution.frontier(0.02) };
        drawPlane();
        drawDots(best);
        drawCurve();
        for (const handle of handles) {
            const value = handle.value().map((v) => v.toFixed(handle === pointHandle ? 1 : 2));
            set(handle.node, {
                transform: `translate(${handle.at().join(" ")})`,
                "aria-valuenow": value[0],
                "aria-valuetext": handle === pointHandle
                    ? `A wrong ${value[0]} %, B wrong ${value[1]} %` : `${value[0]}, ${value[1]}`,
            });
        }
        const spoken = writeText();
        clearTimeout(settled);
        settled = setTimeout(() => write(one("[role=status]"), spoken), 400);
    }

    const redraw = () => {
        waiting ||= requestAnimationFrame(update);
    };

    let written = 0;

    /* After a change by hand: draw, and put the situation into the address. */
    function changed() {
        tell();
        redraw();
        clearTimeout(written);
        written = setTimeout(() => history.replaceState(history.state, "", toHash(state)), 250);
    }

    function resize() {
        const width = one(".explore-frame").clientWidth;
        const ratio = Math.min(globalThis.devicePixelRatio || 1, 2);
        unit = width / WORLD.width;
        const height = WORLD.height * unit;
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
        pen.setTransform(ratio, 0, 0, ratio, 0, 0);
        set(plane, { height, viewBox: `0 0 ${width} ${height}` });

        const side = one(".explore-curve").clientWidth;
        size = side - MARGIN.left - MARGIN.right;
        const below = MARGIN.top + size + MARGIN.bottom;
        set(curve, { height: below, viewBox: `0 0 ${side} ${below}` });
        const lines = [0, 0.5, 1].flatMap((v) => [[[0, v], [1, v]], [[v, 0], [v, 1]]]);
        set(drawn.grid, { d: lines.map((line) => path(line.map(toCurve))).join("") });
        drawn.ticks.forEach(([below, left], i) => {
            const [x, y] = toCurve([i / 2, i / 2]), [x0, y0] = toCurve([0, 0]);
            set(below, { x: x - (i === 2 ? 10 : 0), y: y0 + 17 });
            set(left, { x: x0 - 6, y: y + 4 });
        });
        const [x, y] = toCurve([0.5, 0.5]), [x0, y0] = toCurve([0, 0]);
        set(drawn.titles[0], { x, y: y0 + 37 });
        set(drawn.titles[1], { transform: `translate(${x0 - 49} ${y}) rotate(-90)` });
        set(drawn.empty, { x: x0 + 9, y: y0 - 9 });
        redraw();
    }

    function recolor() {
        const style = getComputedStyle(host);
        colors = ["--class-a", "--class-b"].map((name) => style.getPropertyValue(name));
        redraw();
    }

    /* Begin with a situation. */
    function show(given, story) {
        state = given;
        preset = PRESETS.find((one) => toHash(fromPreset(one)) === toHash(state)) || null;
        start = { hash: toHash(state), story: story || preset?.story
            || "This example comes from the address of the page." };
        tell();
    }

    function tell() {
        write(one(".explore-story"), toHash(state) === start.hash ? start.story
            : "You have changed this situation.");
        host.querySelectorAll(".explore-presets button").forEach((button, i) =>
            button.setAttribute("aria-pressed", toHash(fromPreset(PRESETS[i])) === toHash(state)));
    }

    const ACTIONS = {
        reset() {
            show(fromPreset(preset || PRESETS[0]));
            redraw();
            clearTimeout(written);
            history.replaceState(history.state, "", location.pathname + location.search);
        },
        async share(button) {
            history.replaceState(history.state, "", toHash(state));
            try {
                await navigator.clipboard.writeText(location.href);
                button.textContent = "Copied";
            } catch {
                button.textContent = "Copy it from the address bar";
            }
            setTimeout(() => (button.textContent = "Copy link"), 2500);
        },
        least() {
            state.at = null;
            pointHandle.node.focus({ preventScroll: true });
            changed();
        },
    };
    host.addEventListener("click", ({ target }) => {
        const buttons = [...host.querySelectorAll(".explore-presets button")];
        if (buttons.includes(target)) {
            show(fromPreset(PRESETS[buttons.indexOf(target)]));
            changed();
        } else if (target.dataset.do) ACTIONS[target.dataset.do](target);
    });
    host.addEventListener("input", ({ target }) => {
        state[target.dataset.input] = +target.value;
        state.at = null; // back to the least error: the controls are about that
        changed();
    });

    function load() {
        const { hash } = location;
        if (!hash || document.getElementById(hash.slice(1))) return; // a place of the page
        const given = fromHash(hash);
        if (given) show(given);
        else show(fromPreset(PRESETS[0]), "The address could not be read; this is the first example.");
        redraw();
    }

    globalThis.addEventListener("hashchange", load);
    new MutationObserver(recolor).observe(document.documentElement,
        { attributeFilter: ["data-theme"] });
    new ResizeObserver(resize).observe(one(".explore-main"));
    show(fromPreset(PRESETS[0]));
    load();
    recolor();
    resize();
    Object.assign(globalThis.heteroldaExplore, { update, current: () => now,
        frames: () => nFrames, handles });
})();
