#include "runtime/smc/population.h"

#include "runtime/smc/beam.h"
#include "runtime/smc/particles.h"

namespace scry {

bool looks_ahead(Method method) {
  return method == Method::kImportance || method == Method::kSmooth || method == Method::kBeamAhead;
}

std::unique_ptr<Population> make_population(const SampleOptions& options, int64_t sequence,
                                            int length) {
  switch (options.method) {
    case Method::kImportance:
    case Method::kFilter:
    case Method::kSmooth:
      return std::make_unique<Particles>(options, sequence, length);
    case Method::kBeam:
    case Method::kBeamAhead:
    case Method::kEnumerate:
      break;
  }
  return std::make_unique<Beam>(options, sequence, length);
}

void fill_sequences(const Forest& forest, std::span<const RowId> rows, int length,
                    Ensemble& ensemble) {
  ensemble.length = length;
  ensemble.tags.resize(rows.size() * static_cast<size_t>(length));
  for (size_t i = 0; i < rows.size(); ++i) {
    forest.write_prefix(rows[i],
                        std::span(ensemble.tags)
                            .subspan(i * static_cast<size_t>(length), static_cast<size_t>(length)));
    ensemble.log_scores.push_back(forest.log_score(rows[i]));
  }
}

}  // namespace scry
