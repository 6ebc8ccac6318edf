"""Text of a page that nobody can read whole: cut off, or broken inside a word."""

from helpers.browsing import set_width

_FIND = """
const found = [];
const scrolls = (style) => ["auto", "scroll"].includes(style.overflowX);
const cuts = (style) => ["hidden", "clip"].includes(style.overflowX);
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (texts.nextNode()) {
  const text = texts.currentNode, parent = text.parentElement;
  if (!text.data.trim() || parent.closest("svg, script, style")) continue;
  const range = document.createRange();
  range.selectNodeContents(text);
  const place = range.getBoundingClientRect();
  if (!place.width) continue;
  let box = parent;
  while (box !== document.documentElement && !scrolls(getComputedStyle(box))) {
    const edge = box.getBoundingClientRect();
    if (cuts(getComputedStyle(box)) && place.right > edge.right + 1)
      found.push("cut off: " + text.data.trim());
    box = box.parentElement;
  }
  if (box === document.documentElement && place.right > innerWidth + 1)
    found.push("beyond the screen: " + text.data.trim());
  // A word is broken if its letters stand on several lines.
  for (const word of text.data.matchAll(/[^\\s\\u200b/-]+/g)) {
    range.setStart(text, word.index);
    range.setEnd(text, word.index + word[0].length);
    if (!parent.closest(arguments[0])) break;
    const lines = new Set([...range.getClientRects()].map((r) => Math.round(r.top)));
    if (lines.size > 1) found.push("broken: " + word[0]);
  }
}
return found;
"""


def unreadable(browser, width, within="body"):
    """Texts that a screen of some width cuts off, and words that it breaks.

    What a box can scroll to is not cut off. Words count as broken only within the
    elements of the selector.
    """
    set_width(browser, width)
    found = browser.execute_script(_FIND, within)
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    return found
