#include "tests/support/hand_hmm.h"

#include <algorithm>
#include <cmath>

namespace scry::test {
namespace {

constexpr int X = kHmmSymbols, Y = kHmmTags;

const double* reals(const KernelCall* call, int slot) {
  return static_cast<const double*>(call->args[slot]);
}
double* result(const KernelCall* call, int slot) { return static_cast<double*>(call->args[slot]); }
const int32_t* symbols(const KernelCall* call, int slot) {
  return static_cast<const int32_t*>(call->args[slot]);
}
int32_t* symbol_result(const KernelCall* call, int slot) {
  return static_cast<int32_t*>(call->args[slot]);
}

Slot input(std::string name, Shape shape, Axes axes) {
  return {std::move(name), SlotRole::kInput, Kind::kReal, axes, shape};
}
Slot symbol(std::string name, Axes axes, SlotRole role = SlotRole::kInput) {
  return {std::move(name), role, Kind::kInt, axes, {}};
}
Slot slot(std::string name, SlotRole role, Shape shape, Axes axes) {
  return {std::move(name), role, Kind::kReal, axes, shape};
}
const Axes kRow = Axes::prefix(), kPosition = Axes::position(), kSequence = Axes::sequence(),
           kCandidate = Axes::prefix() | Axes::tag();

Slot trans(const std::string& owner) { return input(owner + ".trans", {Y + 1, Y}, {}); }
Slot emit(const std::string& owner) { return input(owner + ".emit", {Y, X}, {}); }
Slot d_trans(const std::string& owner) {
  return slot("d." + owner + ".trans", SlotRole::kGradient, {Y + 1, Y}, {});
}
Slot d_emit(const std::string& owner) {
  return slot("d." + owner + ".emit", SlotRole::kGradient, {Y, X}, {});
}

Stage start() {
  return {{"start",
           {symbol("s.tag", kSequence, SlotRole::kOutput)},
           [](const KernelCall* c) { std::fill_n(symbol_result(c, 0), c->num_sequences, Y); }},
          {"start.gradient", {}, [](const KernelCall*) {}}};
}

Stage advance() {
  Stage stage;
  stage.forward = {
      "advance",
      {symbol("y", kRow), symbol("next.tag", kRow, SlotRole::kOutput)},
      [](const KernelCall* c) { std::copy_n(symbols(c, 0), c->num_rows, symbol_result(c, 1)); }};
  return stage;
}

Stage score_tag() {
  Stage stage;
  stage.forward = {"score_tag",
                   {trans("model"), emit("model"), symbol("s.tag", kRow), symbol("x", kPosition),
                    symbol("y", kRow), slot("score", SlotRole::kOutput, {}, kRow)},
                   [](const KernelCall* c) {
                     for (int64_t r = 0; r < c->num_rows; ++r) {
                       const int s = symbols(c, 2)[r], x = symbols(c, 3)[c->position_of_row[r]],
                                 y = symbols(c, 4)[r];
                       result(c, 5)[r] = reals(c, 0)[s * Y + y] + reals(c, 1)[y * X + x];
                     }
                   }};
  stage.gradient = {"score_tag.gradient",
                    {symbol("s.tag", kRow), symbol("x", kPosition), symbol("y", kRow),
                     slot("d.score", SlotRole::kSeed, {}, kRow), d_trans("model"), d_emit("model")},
                    [](const KernelCall* c) {
                      for (int64_t r = 0; r < c->num_rows; ++r) {
                        const int s = symbols(c, 0)[r], x = symbols(c, 1)[c->position_of_row[r]],
                                  y = symbols(c, 2)[r];
                        result(c, 4)[s * Y + y] += reals(c, 3)[r];
                        result(c, 5)[y * X + x] += reals(c, 3)[r];
                      }
                    }};
  return stage;
}

Stage score() {
  Stage stage;
  stage.forward = {"score",
                   {trans("model"), emit("model"), symbol("s.tag", kRow), symbol("x", kPosition),
                    slot("score", SlotRole::kOutput, {}, kCandidate)},
                   [](const KernelCall* c) {
                     for (int64_t r = 0; r < c->num_rows; ++r) {
                       const int s = symbols(c, 2)[r], x = symbols(c, 3)[c->position_of_row[r]];
                       for (int y = 0; y < Y; ++y)
                         result(c, 4)[r * Y + y] = reals(c, 0)[s * Y + y] + reals(c, 1)[y * X + x];
                     }
                   }};
  stage.gradient = {
      "score.gradient",
      {symbol("s.tag", kRow), symbol("x", kPosition),
       slot("d.score", SlotRole::kSeed, {}, kCandidate), d_trans("model"), d_emit("model")},
      [](const KernelCall* c) {
        for (int64_t r = 0; r < c->num_rows; ++r) {
          const int s = symbols(c, 0)[r], x = symbols(c, 1)[c->position_of_row[r]];
          for (int y = 0; y < Y; ++y) {
            result(c, 3)[s * Y + y] += reals(c, 2)[r * Y + y];
            result(c, 4)[y * X + x] += reals(c, 2)[r * Y + y];
          }
        }
      }};
  return stage;
}

Stage extend() {
  Stage stage;
  stage.forward = {
      "extend",
      {trans("model"), emit("model"), symbol("s.tag", kRow), symbol("x", kPosition),
       input("later.b", {Y}, kPosition), slot("score", SlotRole::kOutput, {}, kCandidate),
       symbol("next.tag", kCandidate, SlotRole::kOutput),
       slot("compat", SlotRole::kOutput, {}, kCandidate)},
      [](const KernelCall* c) {
        for (int64_t r = 0; r < c->num_rows; ++r) {
          const int64_t q = c->position_of_row[r];
          const int s = symbols(c, 2)[r], x = symbols(c, 3)[q];
          for (int y = 0; y < Y; ++y) {
            result(c, 5)[r * Y + y] = reals(c, 0)[s * Y + y] + reals(c, 1)[y * X + x];
            symbol_result(c, 6)[r * Y + y] = y;
            result(c, 7)[r * Y + y] = reals(c, 4)[q * Y + y];
          }
        }
      }};
  stage.gradient = {"extend.gradient",
                    {slot("d.compat", SlotRole::kSeed, {}, kCandidate),
                     slot("d.later.b", SlotRole::kGradient, {Y}, kPosition)},
                    [](const KernelCall* c) {
                      for (int64_t r = 0; r < c->num_rows; ++r) {
                        for (int y = 0; y < Y; ++y)
                          result(c, 1)[c->position_of_row[r] * Y + y] += reals(c, 0)[r * Y + y];
                      }
                    }};
  return stage;
}

Stage end() {
  return {{"end",
           {slot("later.b", SlotRole::kOutput, {Y}, kSequence)},
           [](const KernelCall* c) { std::fill_n(result(c, 0), c->num_sequences * Y, 0.0); }},
          {"end.gradient", {}, [](const KernelCall*) {}}};
}

/// exp(trans[i, j] + emit[j, x] + b[j]), for every j.
std::vector<double> weights(const double* trans, const double* emit, const double* b, int i,
                            int x) {
  std::vector<double> w;
  for (int j = 0; j < Y; ++j) w.push_back(std::exp(trans[i * Y + j] + emit[j * X + x] + b[j]));
  return w;
}

Stage back() {
  Stage stage;
  stage.forward = {
      "back",
      {trans("proposal"), emit("proposal"), symbol("x", kPosition),
       input("later.b", {Y}, kPosition), slot("next.b", SlotRole::kOutput, {Y}, kPosition),
       slot("to_go", SlotRole::kOutput, {}, kPosition)},
      [](const KernelCall* c) {
        for (int64_t q = 0; q < c->num_positions; ++q) {
          const double* b = reals(c, 3) + q * Y;
          for (int i = 0; i < Y; ++i) {
            double total = 0;
            for (double w : weights(reals(c, 0), reals(c, 1), b, i, symbols(c, 2)[q])) total += w;
            result(c, 4)[q * Y + i] = std::log(total);
          }
          result(c, 5)[q] = 0.5 * b[0];
        }
      }};
  stage.gradient = {
      "back.gradient",
      {trans("proposal"), emit("proposal"), symbol("x", kPosition),
       input("later.b", {Y}, kPosition), slot("d.next.b", SlotRole::kSeed, {Y}, kPosition),
       slot("d.to_go", SlotRole::kSeed, {}, kPosition), d_trans("proposal"), d_emit("proposal"),
       slot("d.later.b", SlotRole::kGradient, {Y}, kPosition)},
      [](const KernelCall* c) {
        for (int64_t q = 0; q < c->num_positions; ++q) {
          const int x = symbols(c, 2)[q];
          for (int i = 0; i < Y; ++i) {
            const std::vector<double> w =
                weights(reals(c, 0), reals(c, 1), reals(c, 3) + q * Y, i, x);
            double total = 0;
            for (double each : w) total += each;
            for (int j = 0; j < Y; ++j) {
              const double d = reals(c, 4)[q * Y + i] * w[static_cast<size_t>(j)] / total;
              result(c, 6)[i * Y + j] += d;
              result(c, 7)[j * X + x] += d;
              result(c, 8)[q * Y + j] += d;
            }
          }
          result(c, 8)[q * Y] += 0.5 * reals(c, 5)[q];
        }
      }};
  return stage;
}

}  // namespace

Program hand_hmm_without_proposal() {
  Program program;
  program.task = {Alphabet::numbered(X), Alphabet::numbered(Y)};
  program.precision = Precision::kDouble;
  program.differentiator = "by hand";
  program.params = {{"model.trans", {Y + 1, Y}, 0, ParamGroup::kModel, Init::normal(1)},
                    {"model.emit", {Y, X}, 16, ParamGroup::kModel, Init::normal(1)}};
  program.num_param_elements = 32;
  program.state = {{"tag", Type::integer(0, Y + 1)}};
  program.start = start();
  program.advance = advance();
  program.score = score();
  program.score_tag = score_tag();
  return program;
}

Program hand_hmm() {
  Program program = hand_hmm_without_proposal();
  program.params.push_back(
      {"proposal.trans", {Y + 1, Y}, 32, ParamGroup::kProposal, Init::normal(1)});
  program.params.push_back({"proposal.emit", {Y, X}, 48, ParamGroup::kProposal, Init::normal(1)});
  program.num_param_elements = 64;
  program.later = {{"b", Type::real({Y})}};
  program.end = end();
  program.back = back();
  program.extend = extend();
  return program;
}

double hmm_score(const std::vector<double>& trans, const std::vector<double>& emit,
                 const std::vector<int>& x, const std::vector<int>& y) {
  double total = 0;
  int before = Y;
  for (size_t t = 0; t < x.size(); before = y[t++]) {
    total +=
        trans[static_cast<size_t>(before * Y + y[t])] + emit[static_cast<size_t>(y[t] * X + x[t])];
  }
  return total;
}

double hmm_log_total(const std::vector<double>& trans, const std::vector<double>& emit,
                     const std::vector<int>& x) {
  double total = 0;
  for (unsigned code = 0; code < 1u << x.size(); ++code) {
    std::vector<int> y;
    for (size_t t = 0; t < x.size(); ++t) y.push_back(static_cast<int>(code >> t & 1));
    total += std::exp(hmm_score(trans, emit, x, y));
  }
  return std::log(total);
}

}  // namespace scry::test
