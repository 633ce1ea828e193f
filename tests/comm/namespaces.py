# SPDX-License-Identifier: Apache-2.0
"""For tests between two hosts that are network namespaces: where the system
forbids those, ctest counts the test as skipped and the output says why."""
import shutil
import subprocess
import sys
import unittest

SKIPPED = 77  # SKIP_RETURN_CODE


def forbidden():
    """Why no namespace can be made, or nothing."""
    if not shutil.which("unshare"):
        return "there is no unshare"
    done = subprocess.run(["unshare", "--user", "--map-root-user", "--net", "--uts", "--mount", "ip", "link", "add",
                           "va", "type", "veth", "peer", "name", "vb"], capture_output=True, text=True)
    return done.stderr.strip() if done.returncode else ""


def main():
    if why := forbidden():
        print("not run: this system makes no network namespaces:", why)
        sys.exit(SKIPPED)
    unittest.main()
