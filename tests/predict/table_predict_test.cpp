// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/table_predict.h"

#include <gmock/gmock.h>

#include <cmath>

#include "lockstep/core/text.h"

namespace lockstep {
namespace {

using testing::HasSubstr;

const char kHead[] =
    "source,model,params_millions,dataset_or_input,framework,precision,gpu,"
    "interconnect,gpus,nodes,batch_per_gpu,metric,value,value_at_1_gpu,speedup,"
    "efficiency,notes,quality,scaling,grad_accum,batch_at_1_gpu,comm,ic_class,"
    "group\n";
const char kRow[] =
    "x,ResNet-50 v1.5,25.557,ImageNet 224,PyTorch,AMP,A100-SXM4 80GB,"
    "NVSwitch + NVLink3 (DGX A100),8,1,256,images/s,9999,1200,1,1,\"a, b\",A,"
    "weak,,256,torch DDP,nvswitch,g\n";

Csv table(const std::string& rows) {
  return parse_csv(kHead + rows, "in.csv", Fault::config);
}
Csv predicted(const std::string& rows) {
  return parse_csv(predict_table(table(rows), table_constants()), "out.csv",
                   Fault::config);
}
double number(const Csv& csv, const char* column, std::size_t row = 0) {
  return *parse_number<double>(
      csv.rows[row].cells[csv.required(column, Fault::config)]);
}

TEST(TablePredict, RepeatsTheInputWithoutWhatIsToBePredicted) {
  const Csv out = predicted(kRow);
  EXPECT_EQ(out.header.size(), 24u - 3 + 7);
  EXPECT_FALSE(out.column("value").has_value());
  EXPECT_FALSE(out.column("speedup").has_value());
  EXPECT_FALSE(out.column("efficiency").has_value());
  EXPECT_EQ(out.header.back(), "note");
  EXPECT_EQ(out.rows[0].cells[*out.column("notes")], "a, b");
}

TEST(TablePredict, TheMeasuredValueDoesNotMatter) {
  std::string other = kRow;
  other.replace(other.find("9999"), 4, "1");
  EXPECT_EQ(predict_table(table(kRow), table_constants()),
            predict_table(table(other), table_constants()));
}

TEST(TablePredict, TheIntervalHoldsTheValueAndTheValueIsTheSpeedup) {
  const Csv out = predicted(kRow);
  EXPECT_LT(number(out, "lo90"), number(out, "predicted_value"));
  EXPECT_GT(number(out, "hi90"), number(out, "predicted_value"));
  EXPECT_NEAR(number(out, "predicted_value"),
              1200 * number(out, "predicted_speedup"), 0.1);
}

TEST(TablePredict, OneGpuIsItsOwnTwin) {
  std::string row = kRow;
  row.replace(row.find(",8,1,256"), 8, ",1,1,256");
  EXPECT_DOUBLE_EQ(number(predicted(row), "predicted_value"), 1200);
}

TEST(TablePredict, AnEmptyRowIsPredictedWiderAndSaysWhy) {
  const std::string bare = ",,,,,,,,8,,,images/s,,1200,,,,,,,,,,\n";
  const Csv out = predicted(std::string(kRow) + bare);
  const auto width = [&](std::size_t row) {
    return std::log(number(out, "hi90", row) / number(out, "lo90", row));
  };
  EXPECT_GT(width(1), 2 * width(0));
  EXPECT_THAT(out.rows[1].cells.back(), HasSubstr("batch unknown"));
}

TEST(TablePredict, TimesOfAStepGrowAndTimesOfAnEpochShrink) {
  const auto value = [](const std::string& metric) {
    std::string row = kRow;
    row.replace(row.find("images/s"), 8, metric);
    return number(predicted(row), "predicted_value");
  };
  EXPECT_GE(value("ms/batch"), 1200 * 0.99);
  EXPECT_LT(value("seconds/epoch"), 1200 / 2.0);
  EXPECT_LT(value("s/epoch"), 1200 / 2.0);
}

}  // namespace
}  // namespace lockstep
