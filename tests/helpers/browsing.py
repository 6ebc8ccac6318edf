"""A headless browser to look at pages with."""

import json
import shutil

import pytest

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,900",
]


def open_browser(profile):
    """Chromium; the test is skipped where it or its driver is not there."""
    programs = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    missing = [name for name, path in programs.items() if path is None]
    if missing:
        pytest.skip(
            f"no browser to look at the page with: {', '.join(missing)} missing"
        )
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = programs["chromium"]
    for flag in [*FLAGS, f"--user-data-dir={profile}"]:
        options.add_argument(flag)
    options.set_capability(
        "goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"}
    )
    service = webdriver.ChromeService(executable_path=programs["chromedriver"])
    return webdriver.Chrome(options=options, service=service)


def requests(browser, uri):
    """Addresses that pages whose address begins with `uri` have asked for."""
    events = [json.loads(entry["message"]) for entry in browser.get_log("performance")]
    sent = [
        event["message"]["params"]
        for event in events
        if event["message"]["method"] == "Network.requestWillBeSent"
    ]
    asked = [event for event in sent if event["documentURL"].startswith(uri)]
    return [event["request"]["url"] for event in asked]


def set_scheme(browser, scheme):
    """Prefer "light" or "dark"."""
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})


def overflow(browser, width, within=None):
    """By how much a page is wider than a screen of some width.

    Or what is within boxes, given by a selector, wider than these.
    """
    screen = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    needed = browser.execute_script(
        "return document.documentElement.scrollWidth - arguments[0]"
        if within is None
        else "return Math.max(...[...document.querySelectorAll(arguments[1])]"
        ".map((box) => box.scrollWidth - box.clientWidth))",
        width,
        within,
    )
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    return needed
