// Source separation of the phonemes of J = 5 words (sec:sourcesep).
#include "mixture.h"

SCRY_MODEL(Settings& settings) { return tasks::make_mixture(settings, 5, 32); }
