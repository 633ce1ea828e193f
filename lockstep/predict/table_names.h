// SPDX-License-Identifier: Apache-2.0
// From the free text of a table to the names that constants are known by:
// software family, link class and generation, host.
#pragma once

#include "lockstep/predict/table_facts.h"

namespace lockstep {

// Sets every name of `facts`; gpus and nodes must be set.
void name_facts(const TableRow& row, TableFacts& facts);

// "ResNet-50 v1.5" and "ResNeXt101-32x4d" are "resnet".
std::string architecture_of(const std::string& model);
std::string software_family(const TableRow& row);
// The part of an interconnect cell that names a machine: "EPYC 7502",
// "DGX A100", "25 Gbit/s Ethernet"; the whole cell where none is known.
std::string host_name(const std::string& interconnect);

}  // namespace lockstep
