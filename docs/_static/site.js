// What is wider than its place can be moved sideways: it shows that, has a name, and the
// keyboard reaches it.
const boxes = ".pst-scrollable-table-container, pre, mjx-container[display=true]";

function mark(box) {
    const hidden = box.scrollWidth - box.clientWidth;
    const moves = hidden > 1;
    box.classList.toggle("moves", moves);
    box.classList.toggle("ended", box.scrollLeft >= hidden - 2);
    box.tabIndex = moves ? 0 : -1;
    if (!moves) {
        box.removeAttribute("role");
        box.removeAttribute("aria-label");
        return;
    }
    const kind = box.matches("pre") ? "Code" : box.matches("div") ? "Table" : "Formula";
    const place = box.closest("section")?.querySelector("h1, h2, h3, dt");
    const words = place ? place.textContent.replace(/[#¶]\s*$/, "").trim() : "";
    const number = [...document.querySelectorAll(boxes)].indexOf(box) + 1;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", `${kind} ${number}: ${words}, scrolls sideways`);
}

window.addEventListener("load", async () => {
    await window.MathJax?.startup?.promise;
    const sizes = new ResizeObserver((seen) => seen.forEach((one) => mark(one.target)));
    for (const box of document.querySelectorAll(boxes)) {
        sizes.observe(box);
        box.addEventListener("scroll", () => mark(box), {passive: true});
    }
});
