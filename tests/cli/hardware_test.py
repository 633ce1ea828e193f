# SPDX-License-Identifier: Apache-2.0
"""lockstep hardware: presets are listed and shown; a wrong name helps."""
import json
import pathlib
import tempfile
import unittest

from program import lockstep


class Hardware(unittest.TestCase):
    def test_list_names_devices_links_and_clusters(self):
        rows = json.loads(lockstep("hardware", "list", "--json").stdout)["rows"]
        kinds = {row["kind"] for row in rows}
        self.assertEqual(kinds, {"device", "link", "cluster"})
        self.assertIn("nvswitch-h100", {row["name"] for row in rows})

    def test_show_prints_a_measured_curve(self):
        out = lockstep("hardware", "show", "pcie3-p2p", "--csv")
        self.assertEqual(out.returncode, 0)
        lines = out.stdout.splitlines()
        self.assertEqual(lines[0], "link,op,ranks,nodes,bytes,seconds,bus_bytes_per_s")
        self.assertTrue(any(line.startswith("pcie3-p2p,all_reduce,4,1,134217728,0.02141,") for line in lines), lines)

    def test_show_reads_a_hardware_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "mine.toml"
            path.write_text('schema = 1\nname = "mine"\ndevices_per_node = 2\ndevice = "RTX 3090"\ninside = "pcie4-host"\n')
            out = lockstep("hardware", "show", path, "--json")
            self.assertEqual(out.returncode, 0, out.stderr)
            self.assertEqual([row["ranks"] for row in json.loads(out.stdout)["rows"]], [1, 2])
            path.write_text('schema = 1\nname = "mine"\ndevices_per_node = 2\ndevice = "RTX 3090"\ninsid = "pcie4-host"\n')
            out = lockstep("hardware", "show", path)
            self.assertEqual(out.returncode, 2)
            self.assertIn("mine.toml:5:", out.stderr)
            self.assertIn("did you mean 'inside'?", out.stderr)

    def test_an_unknown_name_is_exit_2(self):
        for name in ("H100-SXM99", "nowhere.toml", ""):
            self.assertEqual(lockstep("hardware", "show", name).returncode, 2, name)
        self.assertEqual(lockstep("hardware", "tell").returncode, 2)


if __name__ == "__main__":
    unittest.main()
