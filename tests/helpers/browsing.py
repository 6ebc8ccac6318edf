"""A headless browser to look at pages with."""

import base64
import hashlib
import json
import shutil
import subprocess
import tarfile

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

# Rules of accessibility, fetched by npm and kept in the folder of pytest's cache.
AXE = "axe-core-4.14.0.tgz"
AXE_SHA512 = (
    "9WTZxEjsZ7b13TH8JPmbV2z8CHbl80/2hm3XPEG4JgNdQLK81IBRXmSx"
    "HfMAOkSqQeRxT/0dwNDz2GOm3zzpcQ=="
)


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
    """Prefer "light" or "dark", at once."""
    wanted = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
    features = [{"name": name, "value": value} for name, value in wanted.items()]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def set_width(browser, width):
    """Make the screen this wide; narrow ones are those of phones."""
    screen = {"width": width, "height": 800, "deviceScaleFactor": 1}
    screen["mobile"] = width < 600
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)


def read_axe(folder):
    """The script of axe-core, or why it is not there."""
    archive = folder / AXE
    if not archive.exists():
        npm = shutil.which("npm")
        if npm is None:
            return None, "npm is missing"
        package = AXE.removesuffix(".tgz").replace("core-", "core@")
        command = [npm, "pack", package, "--pack-destination", str(folder)]
        run = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if run.returncode:
            return None, f"npm did not fetch {package}"
    digest = hashlib.sha512(archive.read_bytes()).digest()
    assert base64.b64encode(digest).decode() == AXE_SHA512, f"{archive} is another file"
    with tarfile.open(archive) as files:
        return files.extractfile("package/axe.min.js").read().decode(), None


def overflow(browser, width, within=None):
    """By how much a page is wider than a screen of some width.

    Or what is within boxes, given by a selector, wider than these.
    """
    set_width(browser, width)
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
