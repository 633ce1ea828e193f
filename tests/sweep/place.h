// SPDX-License-Identifier: Apache-2.0
// A place for sweeps with a stand-in for `lockstep train`: a script that writes
// a run folder, or waits, hangs, crashes, runs out of memory, as the point's
// seed says.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "lockstep/core/file.h"
#include "lockstep/store/samples_csv.h"
#include "lockstep/sweep/sweep.h"
#include "tests/store/temp_dir.h"

namespace lockstep {

namespace fs = std::filesystem;

// A step takes 10 ms, on seed 7 longer with every run. From seed 100 on it
// takes a while, from 200 on until it is let go, from 210 on with a checkpoint.
// `log` tells when which one runs.
constexpr const char* kTrainer = R"(#!/bin/bash
here=$(dirname "$0")
echo "$@" >> "$here/calls"
recipe=$2; out=$4
[ "$2" = --resume ] && { out=$3; recipe=$out/config.toml; }
exec 9>"$out.mutex"
flock -n 9 || echo "$out" >> "$here/twice"
seed=$(sed -n 's/^seed = //p' "$recipe")
batch=$(sed -n 's/^global = //p' "$recipe")
ranks=$(sed -n 's/^ranks = //p' "$recipe")
trap 'echo "told $ranks-$seed" >> "$here/log"; exit 130' INT
mkdir -p "$out"; cp "$recipe" "$out/config.toml" 2>&-
[ "$seed" -ge 210 ] && mkdir -p "$out/checkpoint"
echo "begin $ranks-$seed" >> "$here/log"
[ "$seed" -ge 100 ] && sleep 0.15 9>&-
while [ "$seed" -ge 200 ] && [ ! -e "$here/go" ]; do sleep 0.02 9>&-; done
case $seed in
  11) sleep 60;;
  12) echo "lockstep: cpu: out of memory: the run does not fit" >&2; exit 4;;
  13) kill -SEGV $$;;
  14) echo "lockstep: rank 1: was lost" >&2; exit 5;;
  15) exit 0;;
  # Out of memory the first time alone.
  16) mkdir "$here/full" 2>&- && { echo "out of memory" >&2; exit 4; };;
  # The same after a checkpoint.
  17) mkdir "$here/full" 2>&- && { mkdir "$out/checkpoint"
      echo "CUBLAS_STATUS_ALLOC_FAILED" >&2; exit 4; };;
  # Two that wait for each other.
  21|22) touch "$here/met-$seed"
    for i in $(seq 100); do
      [ -e "$here/met-21" ] && [ -e "$here/met-22" ] && break; sleep 0.02
    done
    [ "$i" = 100 ] && exit 1;;
esac
step=0.01
[ "$seed" = 7 ] && step=0.0$(( 10 + 20 * $(basename "$out") ))
echo "@HEAD@" > "$out/steps.csv"
for i in 0 1 2 3 4 5 6 7; do
  echo "$i,0,0,$batch,0,0,0,0,0,0,0,0,0,$step,1.5" >> "$out/steps.csv"
done
cat > "$out/record.json" <<END
{"schema":1,"status":"done","reason":"","command":"","began_utc":"","ended_utc":"",
"backend":"threads","versions":{},"config":{},"data":{"train_samples":100},"work":{},
"comm":{},"summary":{"median_step_s":0.01,"median_epoch_s":0.1,"samples_per_s":1000,
"peak_memory_bytes":1000,"final_val_accuracy":0.5}}
END
touch "$out/DONE"
echo "end $ranks-$seed" >> "$here/log"
)";

struct Place {
  TempDir dir;
  fs::path program = dir.path / "trainer";
  fs::path study = dir.path / "study";

  Place() {
    std::string script = kTrainer;
    script.replace(script.find("@HEAD@"), 6, steps_head(false));
    write_file(program, script);
    ::chmod(program.c_str(), 0755);
  }
  StudyFolder create(const std::string& toml) const {
    return StudyFolder::create(study, toml);
  }
  std::vector<std::string> calls() const { return lines_of("calls"); }
  std::vector<std::string> lines_of(const char* file) const {
    std::vector<std::string> out;
    std::ifstream in(dir.path / file);
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
  }
  StudyState state() const { return read_study(study); }
  SweepEnd run(StudyFolder& folder, SweepOrder order = {}) const {
    order.program = program;
    return sweep(folder, order);
  }
};

inline std::string recipe(const std::string& seeds,
                          const std::string& study = "") {
  return "[study]\nwarmup_steps = 2\ntimed_steps = 6\n" + study +
         "[batch]\nglobal = 10\n[grid]\ntrain.seed = [" + seeds + "]\n";
}

}  // namespace lockstep
