// Pretrained embeddings in text files, as word2vec and GloVe write them.
#pragma once
#include <string>

#include "dsl/task.h"
#include "runtime/kernels/parameters.h"

namespace scry {

struct EmbeddingCoverage {
  int num_found = 0, num_symbols = 0;
};

/// Sets the rows of a parameter [symbols, d] of an embedding of the input or output alphabet to the
/// vectors of the symbols in the file, and prepares the tables. If both alphabets have as many
/// symbols as the parameter has rows, the input alphabet is meant. A line is a word and its d
/// numbers, separated by spaces, so that words cannot have spaces in them; a first line of two
/// whole numbers is word2vec's header, "words d". Symbols that the file does not have keep their
/// rows; of a word that stands twice the first vector counts. The file is read line by line and may
/// be of any size. Throws Error if there is no such parameter or its rows are no alphabet's
/// symbols, DataError
/// ("vectors.txt:7: …") if the file is damaged, has a number that is not finite or has vectors of
/// another length; then the parameters are as they were.
EmbeddingCoverage read_embeddings(const std::string& path, const Program& program,
                                  const std::string& parameter, Parameters& parameters);

}  // namespace scry
