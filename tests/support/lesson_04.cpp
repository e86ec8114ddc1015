#include <scry.h>
#undef SCRY_MODEL
#define SCRY_MODEL() scry::Bundle make_lesson()
namespace {
#include "examples/04_encoder_tagger.cpp"
}
#include "tests/support/lessons.h"

namespace scry::test {
Bundle lesson_04() { return make_lesson(); }
}  // namespace scry::test
