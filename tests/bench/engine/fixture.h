// A store of a bench on a file of the test.
#ifndef KAMINO_TESTS_BENCH_ENGINE_FIXTURE_H_
#define KAMINO_TESTS_BENCH_ENGINE_FIXTURE_H_

#include <algorithm>
#include <filesystem>
#include <string>

#include "absl/strings/str_replace.h"
#include "bench/engine/stores.h"
#include "gtest/gtest.h"

namespace kamino::bench {

// For tests of every scheme.
inline std::string SchemeName(const ::testing::TestParamInfo<StoreSpec>& info) {
  std::string name = info.param.scheme;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// Its files have no names left.
inline OpenedStore OpenForTest(const StoreSpec& spec, uint64_t bytes,
                               Watch watch = Watch::kCounts) {
  const std::string folder =
      ::testing::TempDir() + "/" +
      absl::StrReplaceAll(
          ::testing::UnitTest::GetInstance()->current_test_info()->name(),
          {{"/", "_"}});
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  auto opened = OpenForBench(spec, folder + "/pool", bytes, watch);
  std::filesystem::remove_all(folder);
  EXPECT_TRUE(opened.ok()) << opened.status();
  return opened.ok() ? *std::move(opened) : OpenedStore();
}

}  // namespace kamino::bench

#endif  // KAMINO_TESTS_BENCH_ENGINE_FIXTURE_H_
