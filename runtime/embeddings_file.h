// Pretrained embeddings in text files, as word2vec and GloVe write them.
#pragma once
#include <string>

#include "dsl/task.h"
#include "runtime/parameters.h"

namespace scry {

struct EmbeddingCoverage {
  int num_found = 0, num_symbols = 0;
};

/// Sets the rows of a parameter [symbols, d] of an embedding of the input or output alphabet to the
/// vectors of the symbols in the file, and prepares the tables. A line is a word and its d numbers,
/// separated by spaces; word2vec's first line, "words d", is recognized. Symbols that the file does
/// not have keep their rows. Throws Error if there is no such parameter or its rows are no
/// alphabet's symbols, DataError ("vectors.txt:7: …") if the file is damaged or has vectors of
/// another length.
EmbeddingCoverage read_embeddings(const std::string& path, const Program& program,
                                  const std::string& parameter, Parameters& parameters);

}  // namespace scry
