// Which schemes a program's tests use from several threads.
#ifndef KAMINO_TESTS_ENGINE_BASELINES_THREADS_SUITE_H_
#define KAMINO_TESTS_ENGINE_BASELINES_THREADS_SUITE_H_

#include <string>
#include <vector>

namespace kamino::engine {

struct ThreadedScheme {
  std::string name;
  std::string options;  // StoreOptions::scheme_options
};

// Each program defines it.
std::vector<ThreadedScheme> SchemesWithThreads();

}  // namespace kamino::engine

#endif  // KAMINO_TESTS_ENGINE_BASELINES_THREADS_SUITE_H_
