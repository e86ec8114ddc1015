// GFLOP/s of the matrix products of compiled models, beside Eigen's, in one run.
//
//   gemm_bench [--json] [rounds]
//
// The candidates take turns within a round and each keeps its best round, so that noise on the
// machine meets all of them alike. Build with -O3 -march=native, or Eigen is not at its best.
#include <Eigen/Core>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "compiler/gemm.h"

namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct Shape {
  int n, k, m;  // [n,k] times [k,m].
};

constexpr Shape kShapes[] = {{1, 32, 32},     {32, 32, 32},    {96, 32, 96},  {512, 32, 96},
                             {128, 128, 128}, {512, 32, 4992}, {64, 160, 32}, {64, 32, 1}};

struct Candidate {
  std::string name;
  std::function<void()> run;
  double best_seconds = 1e30;  // Per call.
};

double seconds_per_call(const Candidate& c, int64_t calls) {
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < calls; ++i) c.run();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return elapsed.count() / static_cast<double>(calls);
}

void measure(std::vector<Candidate>& candidates, int rounds) {
  constexpr double kRoundSeconds = 1e-3;
  for (int round = 0; round < rounds; ++round) {
    for (Candidate& c : candidates) {
      if (round == 0) c.best_seconds = seconds_per_call(c, 1);
      const auto calls = std::max<int64_t>(1, std::llround(kRoundSeconds / c.best_seconds));
      c.best_seconds = std::min(c.best_seconds, seconds_per_call(c, calls));
    }
  }
}

/// NN overwrites C; the transposed forms are those of gradients and add to it.
std::vector<Candidate> candidates(const Shape& s, bool trans_a, bool trans_b, const Matrix& a,
                                  const Matrix& b, Matrix& c) {
  const float beta = trans_a || trans_b ? 1 : 0;
  std::vector<Candidate> result;
  for (const scry::GemmKernels& kernels : scry::available_kernels()) {
    const scry::GemmArgs<float> args = {trans_a, trans_b,  s.n,      s.m,      s.k,
                                        1,       a.data(), a.cols(), b.data(), b.cols(),
                                        beta,    c.data(), c.cols()};
    result.push_back({kernels.isa, [=] { kernels.sgemm(args); }});
  }
  result.push_back({"eigen", [&, trans_a, trans_b] {
                      if (trans_a) {
                        c.noalias() += a.transpose() * b;
                      } else if (trans_b) {
                        c.noalias() += a * b.transpose();
                      } else {
                        c.noalias() = a * b;
                      }
                    }});
  return result;
}

Matrix random_matrix(int rows, int cols, std::mt19937& random) {
  std::normal_distribution<float> normal;
  return Matrix::NullaryExpr(rows, cols, [&] { return normal(random); });
}

void print(const std::string& name, const std::vector<Candidate>& all, double flop, bool json) {
  if (!json) std::printf("%-20s", name.c_str());
  for (const Candidate& c : all) {
    const double rate = flop / c.best_seconds * 1e-9;
    if (json) {
      std::printf("{\"name\": \"gemm/%s/%s\", \"value\": %.2f, \"unit\": \"GFLOP/s\"}\n",
                  name.c_str(), c.name.c_str(), rate);
    } else {
      std::printf(" %10.1f", rate);
    }
  }
  if (!json) std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  bool json = false;
  int rounds = 100;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) {
      json = true;
    } else {
      rounds = std::max(1, std::atoi(argv[i]));
    }
  }
  if (!json) {
    std::printf("GFLOP/s, fp32          ");
    for (const scry::GemmKernels& kernels : scry::available_kernels()) {
      std::printf("%9s  ", kernels.isa);
    }
    std::printf("%8s\n", "eigen");
  }
  std::mt19937 random(1);
  for (const char* form : {"NN", "NT", "TN"}) {
    for (const Shape& s : kShapes) {
      const bool trans_a = form[0] == 'T', trans_b = form[1] == 'T';
      const Matrix a = trans_a ? random_matrix(s.k, s.n, random) : random_matrix(s.n, s.k, random);
      const Matrix b = trans_b ? random_matrix(s.m, s.k, random) : random_matrix(s.k, s.m, random);
      Matrix c = Matrix::Zero(s.n, s.m);
      std::vector<Candidate> all = candidates(s, trans_a, trans_b, a, b, c);
      measure(all, rounds);
      char name[64];
      std::snprintf(name, sizeof name, "%s/%dx%dx%d", form, s.n, s.k, s.m);
      print(name, all, 2.0 * s.n * s.k * s.m, json);
    }
  }
}
