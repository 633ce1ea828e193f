# SPDX-License-Identifier: Apache-2.0
"""Whatever is wrong with a recipe: one clear error, exit code 2, nothing on stdout."""
import json
import os
import pathlib
import tempfile
import unittest

from program import lockstep

GOOD = "[batch]\nper_rank = 10\n"


class Recipe(unittest.TestCase):
    def setUp(self):
        self.temp = tempfile.TemporaryDirectory()
        self.addCleanup(self.temp.cleanup)
        self.path = pathlib.Path(self.temp.name) / "recipe.toml"

    def refuses(self, text, *words, sets=()):
        """The recipe is refused in at most two lines that hold all the words."""
        mode = "wb" if isinstance(text, bytes) else "w"
        with open(self.path, mode) as file:
            file.write(text)
        self.refuses_path(self.path, *words, sets=sets)

    def refuses_path(self, path, *words, sets=()):
        args = [a for s in sets for a in ("--set", s)]
        done = lockstep("config", path, *args)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertLessEqual(len(done.stderr.splitlines()), 2, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_a_good_recipe_is_printed_whole_and_reads_back_the_same(self):
        self.path.write_text(GOOD)
        first = lockstep("config", self.path)
        self.assertEqual(first.returncode, 0, first.stderr)
        self.path.write_text(first.stdout)
        self.assertEqual(lockstep("config", self.path).stdout, first.stdout)

    def test_set_wins_over_the_recipe(self):
        self.path.write_text(GOOD)
        done = lockstep("config", self.path, "--set", "batch.per_rank=77", "--json")
        rows = {r["setting"]: r["value"] for r in json.loads(done.stdout)["rows"]}
        self.assertEqual(rows["batch.per_rank"], "77")

    def test_an_unknown_key_names_its_place_and_the_nearest(self):
        self.refuses("[batch]\nper_rnak = 10\n", "recipe.toml:2:1", "batch.per_rnak",
                     "did you mean 'batch.per_rank'?")

    def test_an_unknown_section_names_the_nearest(self):
        self.refuses("[btach]\nper_rank = 10\n", "recipe.toml:1:", "did you mean 'batch'?")

    def test_a_wrong_type_is_named(self):
        self.refuses('[batch]\nper_rank = "ten"\n', "recipe.toml:2:1", "whole number")
        self.refuses("[batch]\nper_rank = 1.5\n", "recipe.toml:2:1", "whole number")
        self.refuses("[batch]\nper_rank = 1979-05-27\n", "recipe.toml:2:1")
        self.refuses("batch = 3\n", "recipe.toml:1:1", "is a section")

    def test_out_of_range_says_the_range(self):
        self.refuses("[batch]\nper_rank = -1\n", "recipe.toml:2:1", "out of range")
        self.refuses(GOOD + "[optim]\nlr = nan\n", "optim.lr", "finite")
        self.refuses(GOOD + "[optim]\nlr = inf\n", "optim.lr", "finite")
        self.refuses("[batch]\nper_rank = 99999999999999999999\n", "recipe.toml:2:")

    def test_contradictions_are_refused(self):
        self.refuses("[batch]\nper_rank = 1\nglobal = 2\n", "both set")
        self.refuses("", "neither per_rank nor global")
        self.refuses(GOOD + '[strategy]\nkind = "single"\n[comm]\nranks = 4\n', "comm.ranks is 4")
        self.refuses(GOOD + "[optim]\nnesterov = true\nmomentum = 0.0\n", "optim.nesterov")
        self.refuses(GOOD + '[train]\ndevice = "gpu"\n', "'gpu' is not a device")

    def test_a_word_that_is_no_choice_names_the_choices(self):
        self.refuses(GOOD + '[model]\nkind = "linaer"\n', "did you mean 'linear'?")

    def test_broken_toml_has_line_and_column(self):
        self.refuses("[batch\nper_rank = 10\n", "recipe.toml:1:")
        self.refuses("[batch]\nper_rank = 1\nper_rank = 2\n", "recipe.toml:3:")

    def test_a_folder_a_missing_file_and_a_binary_are_not_recipes(self):
        self.refuses_path(self.temp.name, "is a directory")
        self.refuses_path(self.path / "nowhere", "cannot be read")
        self.refuses_path("", "needs a RECIPE")
        self.refuses(b"\x7fELF\x02\x01\x01\x00\x00\x00", "binary")
        self.refuses(b"\xff\xfe\xfa[batch]", "recipe.toml:1:")
        os.mkfifo(self.path.with_name("pipe"))
        self.refuses_path(self.path.with_name("pipe"), "pipe")
        self.refuses_path("/dev/zero", "/dev/zero")

    def test_a_gigabyte_is_refused_by_its_size_without_reading_it(self):
        with open(self.path, "wb") as file:
            file.truncate(10**9)
        self.refuses_path(self.path, "1000000000")

    def test_bad_sets_are_refused(self):
        self.refuses(GOOD, "has no '='", sets=["batch.per_rank"])
        self.refuses(GOOD, "no such setting", sets=["batch.=3"])
        self.refuses(GOOD, "is not a whole number", sets=["batch.per_rank=1e3"])
        self.refuses(GOOD, "is not true or false", sets=["optim.nesterov=yes"])
        self.refuses(GOOD, "is not a number", sets=["optim.lr=0.1x"])
        self.refuses(GOOD, "did you mean", sets=["optim.lrr=0.1"])


class Usage(unittest.TestCase):
    def test_wrong_usage_is_2_and_help_is_0(self):
        for words in ([], ["frobnicate"], ["config", "--frobnicate"], ["version", "extra"],
                      ["config", "--json", "--csv", "--explain"]):
            with self.subTest(words=words):
                done = lockstep(*words)
                self.assertEqual(done.returncode, 2)
                self.assertEqual(done.stdout, "")
                self.assertNotEqual(done.stderr, "")
        self.assertEqual(lockstep("--help").returncode, 0)

    def test_a_mistyped_verb_names_the_nearest(self):
        self.assertIn("did you mean 'version'?", lockstep("vresion").stderr)

    def test_explain_lists_every_setting_in_three_formats_with_the_same_names(self):
        rows = json.loads(lockstep("config", "--explain", "--json").stdout)["rows"]
        csv = lockstep("config", "--explain", "--csv").stdout.splitlines()
        self.assertEqual(csv[0].split(","), list(rows[0]))
        self.assertEqual(len(csv) - 1, len(rows))
        text = lockstep("config", "--explain").stdout
        for row in rows:
            self.assertIn(row["setting"], text)
            self.assertNotEqual(row["help"], "")


if __name__ == "__main__":
    unittest.main()
