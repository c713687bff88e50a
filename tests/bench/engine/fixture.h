// A store of a bench on a file of the test.
#ifndef KAMINO_TESTS_BENCH_ENGINE_FIXTURE_H_
#define KAMINO_TESTS_BENCH_ENGINE_FIXTURE_H_

#include <filesystem>
#include <string>

#include "bench/engine/stores.h"
#include "gtest/gtest.h"

namespace kamino::bench {

// Its files have no names left.
inline OpenedStore OpenForTest(const StoreSpec& spec, uint64_t bytes) {
  const std::string folder =
      ::testing::TempDir() + "/" +
      ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  auto opened = OpenForBench(spec, folder + "/pool", bytes, /*counted=*/true);
  std::filesystem::remove_all(folder);
  EXPECT_TRUE(opened.ok()) << opened.status();
  return opened.ok() ? *std::move(opened) : OpenedStore();
}

}  // namespace kamino::bench

#endif  // KAMINO_TESTS_BENCH_ENGINE_FIXTURE_H_
