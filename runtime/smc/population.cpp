#include "runtime/smc/population.h"

namespace scry {

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
