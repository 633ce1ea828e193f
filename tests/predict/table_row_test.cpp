// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/table_row.h"

#include <gmock/gmock.h>

#include "lockstep/predict/table_facts.h"
#include "lockstep/predict/table_names.h"

namespace lockstep {
namespace {

using testing::Contains;
using testing::HasSubstr;

TableRow first_row(const std::string& text) {
  const Csv csv = parse_csv(text, "in.csv", Fault::config);
  return TableReader(csv).read(csv.rows.at(0));
}

TEST(TableRow, LessIsBetterExactlyForTimes) {
  for (const char* metric : {"ms/batch", "s/epoch", "seconds", "minutes to x"})
    EXPECT_TRUE(lower_is_better(metric)) << metric;
  for (const char* metric :
       {"images/s", "samples/s", "Msamples/s", "sequences/s", ""})
    EXPECT_FALSE(lower_is_better(metric)) << metric;
}

TEST(TableRow, AMissingRequiredColumnNamesTheFileAndTheColumn) {
  const Csv csv =
      parse_csv("gpus,metric\n2,images/s\n", "in.csv", Fault::config);
  try {
    TableReader reader(csv);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::config);
    EXPECT_THAT(e.what(), HasSubstr("in.csv"));
    EXPECT_THAT(e.what(), HasSubstr("value_at_1_gpu"));
  }
}

TEST(TableRow, ASenselessCellLeavesAWordAndNoNumber) {
  const TableRow row = first_row(
      "gpus,metric,value_at_1_gpu,batch_per_gpu,params_millions,nodes\n"
      "8,images/s,nan,-4,inf,0\n");
  EXPECT_EQ(row.gpus, 8);
  EXPECT_EQ(row.nodes, 1);
  EXPECT_FALSE(row.batch_per_gpu.has_value());
  EXPECT_FALSE(row.params.has_value());
  EXPECT_THAT(row.doubts, Contains("1-GPU value unknown"));
  EXPECT_THAT(row.doubts, Contains("batch unknown"));
}

TEST(TableRow, AccumulationOfTwoPhasesFollowsTheSequenceLength) {
  const std::string head =
      "gpus,metric,value_at_1_gpu,grad_accum,dataset_or_input\n";
  EXPECT_EQ(
      first_row(head + "16,sequences/s,694,32 and 16,seq 128\n").accumulation,
      32);
  EXPECT_EQ(
      first_row(head + "16,sequences/s,264,128 and 64,seq 512\n").accumulation,
      64);
}

TEST(TableFacts, AStepIsItsBatchOverItsRate) {
  const TableRow row = first_row(
      "gpus,metric,value_at_1_gpu,batch_per_gpu,params_millions,model\n"
      "8,images/s,400,100,25,any\n");
  const TableFacts f = facts_of(row);
  EXPECT_DOUBLE_EQ(f.step_s, 0.25);
  EXPECT_DOUBLE_EQ(f.gradient_bytes, 100e6);
}

TEST(TableFacts, AStrongScalingStepShrinksWithTheBatch) {
  const TableRow row = first_row(
      "gpus,metric,value_at_1_gpu,batch_per_gpu,batch_at_1_gpu,scaling\n"
      "8,samples/s,1000,10,80,strong\n");
  const TableFacts f = facts_of(row);
  EXPECT_DOUBLE_EQ(f.batch_ratio, 0.125);
  EXPECT_DOUBLE_EQ(f.step_s, 0.01);
}

TEST(TableFacts, UnitsOfOtherMetricsBecomeSeconds) {
  const std::string head =
      "gpus,metric,value_at_1_gpu,batch_per_gpu,model,dataset_or_input\n";
  EXPECT_DOUBLE_EQ(
      facts_of(first_row(head + "2,ms/batch,334,128,m,i\n")).step_s, 0.334);
  EXPECT_DOUBLE_EQ(
      facts_of(first_row(head + "2,molecules/ms,2,240,m,i\n")).step_s, 0.12);
  EXPECT_DOUBLE_EQ(
      facts_of(first_row(head + "2,Msamples/s,10,1000000,m,i\n")).step_s, 0.1);
  EXPECT_DOUBLE_EQ(
      facts_of(
          first_row(head +
                    "2,tokens/s,19200,10,Transformer-XL base,W tgt_len 192\n"))
          .step_s,
      0.1);
}

TEST(TableNames, HostsAreFoundInFreeText) {
  EXPECT_EQ(host_name("PCIe4, EPYC 7662 host, no P2P (log edge matrix all N)"),
            host_name("PCIe4 EPYC 7662, no P2P"));
  EXPECT_EQ(host_name("PCIe3 Xeon 6230 (chassis 4029GP-TRT2 inferred)"),
            "4029GP-TRT2");
  EXPECT_EQ(host_name("4 GPUs/node; 25 Gbit/s RoCE"), "25 Gbit/s RoCE");
  EXPECT_EQ(host_name("HGX H100 NVSwitch/NVLink4 (Dell)"), "HGX H100");
  EXPECT_EQ(host_name("something else"), "something else");
}

TEST(TableNames, ADgxHasANetworkEvenWhereTheTableDoesNotSayWhich) {
  const auto least = [](const std::string& gpus_and_nodes,
                        const std::string& interconnect) {
    return facts_of(first_row("gpus,nodes,metric,value_at_1_gpu,gpu,ic_class,"
                              "interconnect\n" +
                              gpus_and_nodes + ",images/s,100,A100-SXM4 80GB," +
                              "nvswitch," + interconnect + "\n"))
        .least_bytes_per_s;
  };
  const std::string dgx = "NVSwitch (DGX A100) ; fabric not stated";
  EXPECT_DOUBLE_EQ(least("16,2", dgx), 45e9);
  EXPECT_DOUBLE_EQ(least("8,1", dgx), 115e9);
  EXPECT_DOUBLE_EQ(least("16,2", "25 Gbit/s Ethernet between"), 0);
}

// VGG16's first dense layer has 102.76 of its 138 million parameters.
TEST(TableFacts, AServerSendsItsLargestTensorToEveryWorker) {
  const auto moved = [](const std::string& model, const std::string& comm) {
    return facts_of(first_row("gpus,nodes,metric,value_at_1_gpu,model,"
                              "params_millions,comm\n16,4,images/s,130," +
                              model + "," + comm + "\n"))
        .moved_bytes;
  };
  EXPECT_NEAR(moved("VGG16,138.358", "NCCL"), 2 * 15.0 / 16 * 4 * 138.358e6, 1);
  EXPECT_NEAR(moved("VGG16,138.358", "distributed TF (gRPC PS)"),
              2 * 16 * 4 * 102.76e6, 1);
  // Replicas of a node reduce first; small tensors spread over the servers.
  EXPECT_NEAR(moved("ResNet-50,25.557",
                    "distributed_replicated (gRPC parameter servers)"),
              2 * 4 * 4 * 25.557e6 / 4, 1);
}

}  // namespace
}  // namespace lockstep
