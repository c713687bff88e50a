// The harness notices every planted fault, and nothing when there is none.
// FAULT=name in the environment: only those whose names begin with it.
#include "tests/engine/crash/planted_faults.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/ascii.h"
#include "gtest/gtest.h"
#include "tests/faults/trial.h"

namespace kamino::engine::crash {
namespace {

constexpr uint64_t kMany = 1000000;  // seeds

using faults::Verdict;

// The last line of the account names the violation.
std::string LastLine(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

Verdict Try(const PlantedFault& fault, uint64_t seeds) {
  return faults::RunTrial([&] {
    const Trial trial = RunWithFault(fault, seeds);
    return Verdict{trial.noticed, LastLine(trial.account)};
  });
}

class PlantedFaultTest : public ::testing::TestWithParam<PlantedFault> {};

TEST_P(PlantedFaultTest, IsCaught) {
  const PlantedFault& fault = GetParam();
  const char* const only = std::getenv("FAULT");
  if (only != nullptr && fault.name.rfind(only, 0) != 0) GTEST_SKIP();
  const auto start = std::chrono::steady_clock::now();
  const Verdict verdict = Try(fault, kMany);
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - start;
  std::printf("%-38s %-15s %6.2f s  %s\n", fault.name.c_str(),
              fault.scheme.c_str(), took.count(), verdict.how.c_str());
  EXPECT_TRUE(verdict.caught) << fault.name << ": " << verdict.how;
}

// For test names, which have letters, figures and underscores.
std::string AsName(std::string text) {
  for (char& c : text) {
    if (!absl::ascii_isalnum(c)) c = '_';
  }
  return text;
}

INSTANTIATE_TEST_SUITE_P(
    All, PlantedFaultTest, ::testing::ValuesIn(PlantedFaults()),
    [](const ::testing::TestParamInfo<PlantedFault>& info) {
      return AsName(info.param.name + "_" + info.param.scheme +
                    (info.param.pages ? "_pages" : ""));
    });

class NoFaultTest : public ::testing::TestWithParam<const char*> {};

TEST_P(NoFaultTest, NothingIsCaught) {
  const Verdict verdict = Try({"", GetParam()}, /*seeds=*/3);
  EXPECT_EQ(verdict.how, "");
}

INSTANTIATE_TEST_SUITE_P(All, NoFaultTest,
                         ::testing::Values("kamino-simple", "kamino-dynamic",
                                           "archapt"),
                         [](const ::testing::TestParamInfo<const char*>& info) {
                           return AsName(info.param);
                         });

}  // namespace
}  // namespace kamino::engine::crash
