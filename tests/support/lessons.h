// The lessons' models, several in one test program.
#pragma once
#include "dsl/registry.h"

namespace scry::test {

Bundle lesson_01();  // HMM
Bundle lesson_02();  // OOHMM
Bundle lesson_03();  // the paper's tagger
Bundle lesson_04();  // a tagger with an encoder
Bundle lesson_05();  // source separation

}  // namespace scry::test
