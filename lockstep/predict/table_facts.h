// SPDX-License-Identifier: Apache-2.0
// What a row of a table means for a step of training: how long one GPU
// computes between two exchanges, how many bytes it then exchanges, and over
// which kind of link, host and software. Physics and names, no fitted number.
#pragma once

#include <string>

#include "lockstep/predict/table_row.h"

namespace lockstep {

struct TableFacts {
  int gpus = 1, nodes = 1;
  double step_s = 0;          // one GPU's compute between two exchanges
  double gradient_bytes = 0;  // fp32
  // Through the busiest connection in one exchange: a ring's, or those of the
  // parameter server that holds the largest piece.
  double moved_bytes = 0;
  double batch_ratio = 1;  // samples a GPU, at N over at 1
  bool half = false;       // computes in fp16 or bf16
  bool servers = false;    // parameters live on servers, not on every worker
  bool reduces_in_node = false;  // and a node's replicas speak with one voice
  // What a healthy link of this kind moves at the least; 0: nobody can say.
  double least_bytes_per_s = 0;

  // Names that constants are known by.
  std::string model;         // as the table says
  std::string architecture;  // "resnet", "bert"; the model where none is known
  std::string software;      // family: "torch", "tfcnn", "tf-horovod"
  std::string release;       // the framework cell itself
  std::string comm;          // the comm cell itself
  std::string link;          // class; "multi-node" wherever nodes are crossed
  std::string generation;    // of the link: "nv3", "PCIe4"
  std::string gpu;
  std::string host;  // gpu and what of the interconnect cell names a machine
  std::string size;  // "2", "4", "8", "16"; "m" across nodes
  // tf_cnn_benchmarks before TF 2.4 slows batch-normalised models in fp16 when
  // it runs more than one replica.
  bool slow_half_norm = false;

  int doubts = 0;  // cells that were guessed
};

TableFacts facts_of(const TableRow& row);

// How many samples the metric counts for one item of a batch: tokens of a
// sentence, audio samples of a segment. 1 for images/s.
double samples_per_item(const TableRow& row);

}  // namespace lockstep
