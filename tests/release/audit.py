"""Ask whether installed packages have known vulnerabilities, and say who was asked for.

pip-audit ends well, too, if the service knows none of the packages. So what counts here
is the number of packages that it did look up.
"""

import json
import subprocess
import sys

# Not on the index, and so never looked up.
OWN = {"heterolda"}
CLEAN, VULNERABLE, NOT_ASKED = 0, 1, 2


def judge(text):
    """Status and words for the JSON that pip-audit prints."""
    try:
        packages = json.loads(text)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return NOT_ASKED, ["the vulnerability service could not be asked"]
    packages = [package for package in packages if package["name"] not in OWN]
    asked = [package for package in packages if "skip_reason" not in package]
    lines = [
        f"{package['name']} {package['version']}: {vuln['id']}"
        + f", mended in {', '.join(vuln['fix_versions']) or 'no release yet'}"
        for package in asked
        for vuln in package["vulns"]
    ]
    if lines:
        return VULNERABLE, lines
    summary = f"{len(asked)} of {len(packages)} packages were looked up"
    if len(asked) < len(packages) or not packages:
        return NOT_ASKED, [f"{summary}: this says nothing of the others"]
    return CLEAN, [f"{summary}: no known vulnerabilities"]


def main():
    """Check requirements, then ask; the status is 2 where nobody could be asked."""
    pip = [sys.executable, "-m"]
    broken = subprocess.run([*pip, "pip", "check"]).returncode
    command = [*pip, "pip_audit", "--local", "--format=json", "--progress-spinner=off"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    status, lines = judge(done.stdout)
    print(*lines, sep="\n")
    return VULNERABLE if broken else status


if __name__ == "__main__":
    sys.exit(main())
