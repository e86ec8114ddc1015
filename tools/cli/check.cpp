#include "runtime/train/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "compiler/compile.h"
#include "compiler/enzyme.h"
#include "tools/cli/command.h"
#include "tools/cli/lengths.h"
#include "tools/cli/options.h"
#include "tools/cli/output_file.h"
#include "tools/cli/text.h"

namespace scry::cli {
namespace {

struct CheckOptions {
  std::string lengths = "1-12", differentiator = "auto";
  uint64_t seed = 1;
};

class CheckCommand {
 public:
  CheckCommand(const CheckOptions& options, const Bundle& bundle)
      : options_(options), bundle_(bundle), style_(Style::for_stdout()) {}

  int run() {
    const std::vector<int> lengths = parse_lengths(options_.lengths);
    std::vector<Program> programs = compile_all();
    std::optional<Program> held;
    if (stops_gradients(bundle_)) {
      print("stop_gradient: what it stops is held still in the finite differences");
      held = compile(bundle_,
                     {.precision = Precision::kDouble, .gradients = false, .hold_stopped = true});
    }
    print(style_.dim(
        fmt::format("{:>6}  {:<14}  {:>11}  worst in", "length", "differentiator", "worst error")));
    std::vector<GradientCheckRow> wrong;
    size_t num_rows = 0, num_compared = 0;
    for (int length : lengths) {
      for (const Program& program : programs) {
        const std::vector<GradientCheckRow> rows =
            check_gradients(program, length, options_.seed, held ? &*held : nullptr);
        num_rows += rows.size();
        num_compared += static_cast<size_t>(std::count_if(
            rows.begin(), rows.end(), [](const auto& row) { return row.left_out.empty(); }));
        std::copy_if(rows.begin(), rows.end(), std::back_inserter(wrong),
                     [](const auto& row) { return !row.ok; });
        show(program.differentiator, length, rows);
      }
    }
    if (num_compared == 0) {
      print(
          style_.bad("nothing was compared") +
          ": no tagging of positive probability was found; try other --lengths or another --seed");
      return 1;
    }
    if (num_compared < num_rows) {
      print(fmt::format("{} of {} comparisons were left out, as the rows say",
                        num_rows - num_compared, num_rows));
    }
    if (wrong.empty()) {
      print(style_.good("all gradients agree") +
            fmt::format(" with finite differences: the largest error is {:.1e}", largest_error_));
      return 0;
    }
    const GradientCheckRow& first = wrong.front();
    print(style_.bad(fmt::format("{} of {} gradients disagree with finite differences",
                                 wrong.size(), num_rows)) +
          fmt::format(", first that of {} at length {} by {}, for {}", first.quantity, first.length,
                      first.differentiator, first.worst_parameter));
    return 1;
  }

 private:
  static void print(const std::string& line) { write_result("", line + "\n"); }

  Program compile_with(Differentiator differentiator) const {
    return compile(bundle_, {.precision = Precision::kDouble, .differentiator = differentiator});
  }

  /// With `auto`, Enzyme is checked where it can be, and it is said where not.
  std::vector<Program> compile_all() const {
    std::vector<Program> programs;
    const std::string& wanted = options_.differentiator;
    if (wanted != "enzyme") programs.push_back(compile_with(Differentiator::kAdjoint));
    if (wanted == "enzyme" || wanted == "both")
      programs.push_back(compile_with(Differentiator::kEnzyme));
    if (wanted != "auto") return programs;
    const EnzymeSearch search = find_enzyme();
    if (search.path.empty()) {
      print(fmt::format("enzyme is skipped: {}", search.reason));
      return programs;
    }
    try {
      programs.push_back(compile_with(Differentiator::kEnzyme));
    } catch (const ModelError&) {
      throw;
    } catch (const Error& error) {
      tell(fmt::format("scry: {}; checking the adjoint alone", error.what()));
    }
    return programs;
  }

  /// The largest error, and where. Rows come one by one, as a long length takes its time.
  void show(const std::string& differentiator, int length,
            const std::vector<GradientCheckRow>& rows) {
    if (!rows.front().left_out.empty()) {
      print(fmt::format("{:>6}  {:<14}  {:>11}  {}", length, differentiator, "left out",
                        rows.front().left_out));
      return;
    }
    const auto worst = std::max_element(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
      return std::pair(!a.ok, a.worst_error) < std::pair(!b.ok, b.worst_error);
    });
    largest_error_ = std::max(largest_error_, worst->worst_error);
    const bool ok = std::all_of(rows.begin(), rows.end(), [](const auto& row) { return row.ok; });
    const std::string line =
        fmt::format("{:>6}  {:<14}  {:>11.1e}  {}", length, differentiator, worst->worst_error,
                    worst->worst_parameter.empty()
                        ? worst->quantity
                        : fmt::format("{}, {}", worst->quantity, worst->worst_parameter));
    print(ok ? line : style_.bad(line + "  WRONG"));
  }

  const CheckOptions& options_;
  const Bundle& bundle_;
  Style style_;
  double largest_error_ = 0;
};

}  // namespace

std::vector<int> parse_lengths(const std::string& text) {
  constexpr int kMax = 10000;
  const auto fail = [&] {
    throw UsageError(
        fmt::format("--lengths: '{}' is not a list of lengths such as 1-12 or 1,2,8", text));
  };
  const auto number = [&](std::string_view digits) {
    int value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value < 1 || value > kMax)
      fail();
    return value;
  };
  std::vector<int> lengths;
  std::string_view rest = text;
  while (true) {
    const std::string_view item = rest.substr(0, rest.find(','));
    const size_t dash = item.find('-');
    const int first = number(item.substr(0, dash));
    const int last = dash == std::string_view::npos ? first : number(item.substr(dash + 1));
    if (last < first) fail();
    for (int length = first; length <= last; ++length) lengths.push_back(length);
    if (item.size() == rest.size()) return lengths;
    rest.remove_prefix(item.size() + 1);
  }
}

Action declare_check(CLI::App& app) {
  auto options = std::make_shared<CheckOptions>();
  app.add_option("--lengths", options->lengths, "Lengths of x to check at, such as 1-12 or 1,2,8")
      ->capture_default_str()
      ->type_name("LIST");
  add_seed(app, options->seed, "Seed of the parameters, x and y");
  add_choice(app, "--differentiator", options->differentiator,
             {"auto", "enzyme", "adjoint", "both"},
             "Whose gradients; auto is the adjoint's, and Enzyme's where its plugin is found");
  return [options](const Bundle& bundle) { return CheckCommand(*options, bundle).run(); };
}

}  // namespace scry::cli
