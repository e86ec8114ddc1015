#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/quote.h"
#include "dsl/type.h"
#include "runtime/smc/ensemble.h"
#include "runtime/smc/ensemble_json.h"
#include "runtime/smc/methods.h"

namespace scry {

Json parse_record(std::string_view text) {
  constexpr int kMaxDepth = 4;  // the tags of one of the sequences
  const auto check = [](int depth, Json::parse_event_t, Json&) {
    if (depth > kMaxDepth) throw Error("it is nested too deeply");
    return true;
  };
  Json json = Json::parse(text.begin(), text.end(), check, false);
  if (!json.is_object()) throw Error("it is not a JSON object");
  return json;
}

namespace {

[[noreturn]] void fail(const char* key, const char* wanted) {
  throw Error(fmt::format("{} is not {}", quote(key), wanted));
}

const Json& at(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end()) throw Error(fmt::format("there is no {}", quote(key)));
  return *found;
}

/// Infinities are written as null, of which logs have one.
double log_of(const Json& json, const char* key) {
  const Json& value = at(json, key);
  if (value.is_null()) return -INFINITY;
  if (!value.is_number()) fail(key, "a number");
  return value.get<double>();
}

template <class Int>
Int whole_of(const Json& json, const char* key, Int least,
             Int most = std::numeric_limits<Int>::max()) {
  const Json& value = at(json, key);
  if (!value.is_number_unsigned() || value.get<uint64_t>() > static_cast<uint64_t>(most) ||
      value.get<uint64_t>() < static_cast<uint64_t>(least))
    fail(key, "a whole number that it can be");
  return static_cast<Int>(value.get<uint64_t>());
}

std::string text_of(const Json& json, const char* key) {
  const Json& value = at(json, key);
  if (!value.is_string()) fail(key, "a text");
  return value.get<std::string>();
}

RunInfo read_info(const Json& json) {
  RunInfo info;
  info.sequence = whole_of<int64_t>(json, "sequence", 1) - 1;
  info.method = text_of(json, "method");
  if (find_method(info.method) == nullptr)
    throw Error(fmt::format("there is no method {}", quote(info.method)));
  if (!find_method(info.method)->finds_ensembles())
    throw Error(fmt::format("{} finds one tagging without a weight, and no ensemble", info.method));
  info.resampling = text_of(json, "resampling");
  info.draws = text_of(json, "draws");
  info.weights = text_of(json, "weights");
  if (std::ranges::find(weights_names(), info.weights) == weights_names().end())
    fail("weights", "sampler or score");
  info.particles = whole_of<int>(json, "particles", 0);
  info.beam_width = at(json, "beam_width").is_null() ? 0 : whole_of<int>(json, "beam_width", 1);
  if (const auto found = json.find("tolerance"); found != json.end() && !found->is_null()) {
    info.tolerance = log_of(json, "tolerance");
    if (!(*info.tolerance >= 0 && *info.tolerance <= 1)) fail("tolerance", "between 0 and 1");
  }
  info.runs = whole_of<int>(json, "runs", 1);
  info.temperature = log_of(json, "temperature");
  if (!(info.temperature > 0)) fail("temperature", "a number above 0");
  info.seed = whole_of<uint64_t>(json, "seed", 0);
  return info;
}

void read_log_z(const Json& json, Ensemble& ensemble) {
  const std::string status = text_of(json, "log_z_status");
  int which = 0;
  while (which <= static_cast<int>(Certainty::kLowerBound) &&
         to_string(static_cast<Certainty>(which)) != status)
    ++which;
  if (which > static_cast<int>(Certainty::kLowerBound)) fail("log_z_status", "one that there is");
  ensemble.certainty = static_cast<Certainty>(which);
  const bool bound = ensemble.certainty == Certainty::kLowerBound;
  ensemble.log_z = log_of(json, bound ? "log_z_lower_bound" : "log_z");
  if (!at(json, "log_z_error").is_null()) {
    ensemble.log_z_error = log_of(json, "log_z_error");
    if (!(*ensemble.log_z_error >= 0)) fail("log_z_error", "a number from 0 on");
  }
  if (!at(json, "log_z_caution").is_null()) ensemble.caution = text_of(json, "log_z_caution");
}

/// Particles and draws are counted; sets that are only weighted are not, though each counts as 1.
bool has_counts(const RunInfo& info) {
  const MethodRow& row = *find_method(info.method);
  const bool drew =
      row.selects == Selects::kDraws || (row.method == Method::kExact && info.particles > 0);
  return drew && info.weights != weights_names()[static_cast<size_t>(Weights::kScore)];
}

void read_sequence(const Json& json, const Task& task, Ensemble& ensemble) {
  if (!json.is_object()) fail("sequences", "a list of objects");
  const Json& tags = at(json, "tags");
  if (!tags.is_array()) fail("tags", "a list");
  if (tags.size() != static_cast<size_t>(ensemble.length))
    throw Error(fmt::format("a tagging has {} tags of {}", tags.size(), ensemble.length));
  for (const Json& tag : tags) {
    if (!tag.is_string()) fail("tags", "a list of names");
    const std::optional<int> id = task.y.find(tag.get_ref<const std::string&>());
    if (!id || id == task.y.eos()) {
      throw Error(fmt::format("{} is not in the output alphabet",
                              quote(tag.get_ref<const std::string&>())));
    }
    ensemble.tags.push_back(*id);
  }
  ensemble.log_weights.push_back(log_of(json, "log_weight"));
  ensemble.log_scores.push_back(log_of(json, "log_score"));
  const auto count = whole_of<int32_t>(json, "count", 1);
  if (has_counts(ensemble.info)) ensemble.counts.push_back(count);
}

void read_steps(const Json& json, Ensemble& ensemble) {
  if (!json.contains("steps")) return;
  if (!json["steps"].is_array()) fail("steps", "a list");
  for (const Json& step : json["steps"]) {
    if (!step.is_object()) fail("steps", "a list of objects");
    StepRecord& record = ensemble.steps.emplace_back();
    record.ess = at(step, "ess").is_null() ? NAN : log_of(step, "ess");
    if (!at(step, "resampled").is_boolean()) fail("resampled", "true or false");
    record.resampled = step["resampled"].get<bool>();
    record.num_rows = whole_of<int64_t>(step, "rows", 0, int64_t{1} << 53);
    if (!record.resampled) continue;
    const Json& ancestors = at(step, "ancestors");
    if (!ancestors.is_array()) fail("ancestors", "a list");
    for (const Json& ancestor : ancestors) {
      if (!ancestor.is_number_unsigned() || ancestor.get<uint64_t>() > INT32_MAX)
        fail("ancestors", "a list of numbers");
      record.ancestors.push_back(static_cast<int32_t>(ancestor.get<uint64_t>()));
    }
  }
}

/// What exact draws know of p besides; of other ensembles it is worked out.
void read_known(const Json& json, int num_tags, Ensemble& ensemble) {
  const auto entropy = json.find("entropy");
  if (ensemble.certainty != Certainty::kExact || !ensemble.has_counts() || entropy == json.end() ||
      entropy->is_null())
    return;
  ensemble.known = Ensemble::Known{log_of(json, "entropy"), {}};
  if (!(ensemble.known->entropy >= 0)) fail("entropy", "a number from 0 on");
  const auto marginals = json.find("marginals");
  if (marginals == json.end() || text_of(json, "marginals_status") != "exact") return;
  if (!marginals->is_array() || marginals->size() != static_cast<size_t>(ensemble.length))
    fail("marginals", "a list for each tag of a tagging");
  for (const Json& row : *marginals) {
    if (!row.is_array() || row.size() != static_cast<size_t>(num_tags))
      fail("marginals", "lists with a number for each tag");
    for (const Json& value : row) {
      if (!value.is_number()) fail("marginals", "lists of numbers");
      ensemble.known->tag_marginals.push_back(value.get<double>());
    }
  }
}

void check(const Ensemble& ensemble, size_t num_sequences) {
  if (num_sequences != ensemble.size()) {
    throw Error(fmt::format("it has only {} of {} taggings: sample without --top", ensemble.size(),
                            num_sequences));
  }
  std::vector<size_t> order(ensemble.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto tags = [&](size_t i) { return ensemble.sequence(i); };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::ranges::lexicographical_compare(tags(a), tags(b));
  });
  for (size_t i = 1; i < order.size(); ++i) {
    if (std::ranges::equal(tags(order[i - 1]), tags(order[i])))
      throw Error("a tagging is there twice");
  }
  const double total = log_sum_exp(ensemble.log_weights);
  const bool agrees = total == ensemble.log_z ||
                      std::abs(total - ensemble.log_z) <= 1e-9 * std::max(1.0, std::abs(total));
  if (!agrees)
    throw Error(fmt::format("the weights add up to {}, and log Z is {}", total, ensemble.log_z));
}

}  // namespace

Ensemble to_ensemble(const Json& json, const Task& task) {
  Ensemble ensemble;
  ensemble.info = read_info(json);
  ensemble.length = whole_of<int>(json, "length", 0, kMaxLength);
  read_log_z(json, ensemble);
  const Json& sequences = at(json, "sequences");
  if (!sequences.is_array()) fail("sequences", "a list");
  for (const Json& sequence : sequences) read_sequence(sequence, task, ensemble);
  read_steps(json, ensemble);
  read_known(json, task.y.size(), ensemble);
  check(ensemble, whole_of<size_t>(json, "num_sequences", 0));
  ensemble.sort();
  return ensemble;
}

Ensemble ensemble_from_json(std::string_view json, const Task& task) {
  return to_ensemble(parse_record(json), task);
}

}  // namespace scry
