# SPDX-License-Identifier: Apache-2.0
"""doctor says what is there, and what to do about what is not."""
import json
import os
import tempfile
import unittest

from program import lockstep


def rows(**env):
    done = lockstep("doctor", "--json", env=env)
    return done.returncode, {r["part"]: r for r in json.loads(done.stdout)["rows"]}


class Doctor(unittest.TestCase):
    def test_every_part_has_a_state_and_every_fault_an_advice(self):
        code, found = rows()
        self.assertEqual(code, 0)
        self.assertTrue({"binary", "LibTorch", "GPU", "NCCL", "MPI", "cores", "memory", "clock",
                         "disk", "data"} <= set(found), found)
        if found["LibTorch"]["state"] == "ok":
            self.assertIn("CUDA half", found)
        for part, row in found.items():
            self.assertIn(row["state"], ("ok", "warn", "missing"))
            self.assertNotEqual(row["found"], "", part)
            self.assertEqual(row["state"] == "ok", row["advice"] == "", part)

    def test_the_data_folder_is_the_one_named_by_the_environment(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f"{folder}/tulips")
            _, found = rows(LOCKSTEP_DATA=folder)
            self.assertEqual(found["data"]["state"], "ok")
            self.assertIn("tulips", found["data"]["found"])
        _, found = rows(LOCKSTEP_DATA=folder)
        self.assertEqual(found["data"]["state"], "missing")

    def test_mpi_is_missing_where_path_holds_no_mpirun(self):
        _, found = rows(PATH="/nowhere")
        self.assertEqual(found["MPI"]["state"], "missing")
        self.assertIn("openmpi-bin", found["MPI"]["advice"])

    def test_version_and_doctor_agree_about_libtorch(self):
        version = {r["part"]: r["version"]
                   for r in json.loads(lockstep("version", "--json").stdout)["rows"]}
        _, found = rows()
        if found["LibTorch"]["state"] == "missing":
            self.assertEqual(version["libtorch"], "none (study build)")
        else:
            self.assertTrue(found["LibTorch"]["found"].startswith(version["libtorch"]))


if __name__ == "__main__":
    unittest.main()
