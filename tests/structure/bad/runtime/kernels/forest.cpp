#include "forest.h"
#include "../../compiler/emit.cpp"
