#include "tools/cli/eval_report.h"

#include "tests/catch.h"

namespace scry::cli {
namespace {

EvalTable small_table() {
  EvalTable table;
  table.num_inputs = 12;
  table.num_enumerated = 12;
  table.runs = 3;
  table.threads = 1;
  EvalRow row;
  row.configuration = *find_configuration("PF");
  row.particles = 8;
  row.runs = 3;
  row.inputs = row.references = row.exact_references = 12;
  row.values[static_cast<size_t>(Measure::kKl)] = {0.5903, 0.0131};
  row.values[static_cast<size_t>(Measure::kEss)] = {0.814, 0.01};
  row.seconds_per_input = 42e-6;
  table.rows = {row};
  return table;
}

TEST_CASE("an estimate has the digits that its error leaves worth telling") {
  CHECK(format_estimate({0.59034, 0.0131}) == "0.590 ±0.013");
  CHECK(format_estimate({19.634, 0.42}) == "19.63 ±0.42");
  CHECK(format_estimate({1234.5, 112}) == "1234 ±112");
  CHECK(format_estimate({-0.0001, 0.0131}) == "0.000 ±0.013");  // no minus before zeros
  CHECK(format_estimate({0.25, NAN}) == "0.25");
  CHECK(format_estimate({1, 0}) == "1");
  CHECK(format_estimate({0, 0}) == "0");
  CHECK(format_estimate({3e-8, 1e-8}) == "0");
  CHECK(format_estimate({3.14e-5, 1e-6}) == "3.1e-05");
  CHECK(format_estimate({-0.31415926, 1e-6}) == "-0.3142");
  CHECK(format_estimate({NAN, NAN}) == "-");
  CHECK(format_estimate({INFINITY, NAN}) == "∞");
}

TEST_CASE("the table for a page has the same cells between bars") {
  const std::string text = format_eval_markdown(small_table());
  INFO(text);
  CHECK(text.starts_with("12 inputs, 3 runs of each. p(y|x), "));
  CHECK(text.find("\n\n| method | M | KL bits | ESS/M | time |\n|") != std::string::npos);
  CHECK(text.find("\n| --- | --: | --: | --: | --: |\n") != std::string::npos);
  CHECK(text.find("\n| PF | 8 | 0.590 ±0.013 | 81 % | 42 µs |\n") != std::string::npos);
}

TEST_CASE("columns and legend are of what was measured") {
  const std::string text = format_eval(small_table(), Style(false));
  INFO(text);
  CHECK(text.find("PF      8  0.590 ±0.013") != std::string::npos);
  CHECK(text.find("81 %") != std::string::npos);
  CHECK(text.find("42 µs") != std::string::npos);
  CHECK(text.find("the share of the particles that count") != std::string::npos);
  CHECK(text.find("the mean of log Ẑ") == std::string::npos);  // no row has it
}

TEST_CASE("a divergence that came out below 0 says how large it can be, or nothing") {
  EvalTable table = small_table();
  Estimate& kl = table.rows[0].values[static_cast<size_t>(Measure::kProposalKl)];
  kl = {-0.01, 0.02};
  CHECK(format_eval(table, Style(false)).find("<0.029") != std::string::npos);
  kl = {-1, 0.02};
  CHECK(format_eval(table, Style(false)).find("-1") == std::string::npos);
}

TEST_CASE("offset divergences have a column where they are bounds that differ") {
  EvalTable table = small_table();
  table.num_enumerated = 11;
  table.num_estimated = 1;
  table.estimated_by = "4 runs of discrete with M = 64";
  table.reference_error = {0.0123, NAN};
  table.rows[0].exact_references = 11;
  Estimate& offset = table.rows[0].values[static_cast<size_t>(Measure::kOffsetKl)];
  offset = {0.59031, 0.0131};
  CHECK(format_eval(table, Style(false)).find("offset KL") == std::string::npos);
  offset = {0.51, 0.0131};
  const std::string text = format_eval(table, Style(false));
  INFO(text);
  CHECK(text.find("≈0.590 ±0.013  ≥0.510 ±0.013") != std::string::npos);
  CHECK(text.find("exact for 11 inputs by enumeration, estimated for 1 input by 4 runs of discrete "
                  "with M = 64 (standard error of log Z: 0.012 nats)") != std::string::npos);
}

TEST_CASE("what failed is told below the table") {
  EvalTable table = small_table();
  table.left_out.push_back({3, "no"});
  table.rows[0].inputs = table.rows[0].references = table.rows[0].exact_references = 9;
  table.rows[0].failed_inputs = 2;
  table.rows[0].empty_runs = 7;
  const std::string text = format_eval(table, Style(false));
  CHECK(text.find("11 inputs (1 left out), 3 runs of each") != std::string::npos);
  CHECK(text.find("PF with M = 8: nothing was found on 2 inputs, left out of its row.") !=
        std::string::npos);
  CHECK(text.find("PF with M = 8: 7 runs found nothing; Ẑ = 0 there") != std::string::npos);
}

}  // namespace
}  // namespace scry::cli
