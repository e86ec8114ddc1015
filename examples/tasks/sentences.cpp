// Source separation of the words of J = 2 sentences (sec:sourcesep). Words may begin with vectors
// from elsewhere, such as GloVe's of 50 numbers: --embed model.emb.weight=FILE.
#include "mixture.h"

SCRY_MODEL(Settings& settings) { return tasks::make_mixture(settings, 2, 50); }
