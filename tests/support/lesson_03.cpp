#include <scry.h>
#undef SCRY_MODEL
#define SCRY_MODEL() scry::Bundle make_lesson()
namespace {
#include "examples/03_stress_tagger.cpp"
}
#include "tests/support/lessons.h"

namespace scry::test {
Bundle lesson_03() { return make_lesson(); }
}  // namespace scry::test
