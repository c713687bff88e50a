// Stores by name, on files of one test.
#ifndef KAMINO_TESTS_ENGINE_BASELINES_OPEN_STORE_FIXTURE_H_
#define KAMINO_TESTS_ENGINE_BASELINES_OPEN_STORE_FIXTURE_H_

#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "engine/baselines/open_store.h"
#include "engine/transaction.h"
#include "gtest/gtest.h"
#include "tests/patience.h"

namespace kamino::engine {

inline constexpr size_t kBytes = 16u << 20;

class OpenStoreTest : public ::testing::Test {
 protected:
  ~OpenStoreTest() override { RemoveStore(path_); }

  absl::StatusCode CodeOf(absl::string_view scheme, size_t bytes,
                          bool fresh = true, double alpha = 0.5) {
    StoreOptions options;
    options.mode = PmemMode::kForce;
    options.fresh = fresh;
    options.alpha = alpha;
    return OpenStore(scheme, path_, bytes, options).status().code();
  }
  bool FilesExist() const {
    return std::filesystem::exists(path_) ||
           std::filesystem::exists(path_ + ".backup");
  }

  const std::string path_ =
      absl::StrCat(::testing::TempDir(), "/open.", getpid());
};

// A row of docs/use/engine.md, "After a crash".
struct Row {
  const char* scheme;
  uint64_t last_sequence, replayed, rolled_back;
};

class AfterACrashTest : public OpenStoreTest {
 protected:
  AfterACrashTest() {
    options_.mode = PmemMode::kForce;
    // So that the test knows how far the work is done.
    options_.background = false;
  }

  // Five commits, the last one of number 1004, and a transaction under way;
  // then copies the files, as a process that dies leaves them.
  void MakeAndCrash(absl::string_view scheme) {
    options_.fresh = true;
    auto store = OpenStore(scheme, path_, kBytes, options_);
    ASSERT_TRUE(store.ok()) << store.status();
    const ObjectId root = (*store)->root();
    uint64_t durable_at = 0;
    for (uint64_t i = 0; i < 5; ++i) {
      auto transaction = (*store)->Begin(absl::ZeroDuration());
      std::memset(*transaction->Write(root, 0, 8), 'a', 8);
      CommitOptions options;
      options.sequence = 1000 + i;
      options.durable_at = &durable_at;
      ASSERT_TRUE(transaction->Commit(options).ok());
      ASSERT_TRUE(
          (*store)->AwaitDurable(durable_at, Patience(absl::Seconds(30))));
    }
    auto open = (*store)->Begin(absl::ZeroDuration());
    std::memset(*open->Write(root, 64, 8), 'b', 8);
    std::filesystem::copy_file(path_, crash_);
    if (std::filesystem::exists(path_ + ".backup")) {
      std::filesystem::copy_file(path_ + ".backup", crash_ + ".backup");
    }
    ASSERT_TRUE(open->Abort().ok());
  }

  RecoveryReport ReportOf(absl::string_view scheme, const std::string& path) {
    options_.fresh = false;
    auto store = OpenStore(scheme, path, kBytes, options_);
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? (*store)->recovery_report() : RecoveryReport();
  }

  void Check(const Row& row) {
    MakeAndCrash(row.scheme);
    const RecoveryReport report = ReportOf(row.scheme, crash_);
    EXPECT_EQ(report.last_sequence, row.last_sequence) << row.scheme;
    EXPECT_EQ(report.replayed, row.replayed) << row.scheme;
    EXPECT_EQ(report.rolled_back, row.rolled_back) << row.scheme;
    // A closed store needs no recovery, ...
    const RecoveryReport closed = ReportOf(row.scheme, path_);
    EXPECT_EQ(closed.replayed, 0u) << row.scheme;
    EXPECT_EQ(closed.rolled_back, 0u) << row.scheme;
    // ... and Kamino has forgotten its numbers.
    const bool kamino = absl::StartsWith(row.scheme, "kamino");
    EXPECT_EQ(closed.last_sequence, kamino ? 0 : row.last_sequence)
        << row.scheme;
    RemoveStore(path_);
    RemoveStore(crash_);
  }

  const std::string crash_ = path_ + ".crash";
  StoreOptions options_;
};

}  // namespace kamino::engine

#endif  // KAMINO_TESTS_ENGINE_BASELINES_OPEN_STORE_FIXTURE_H_
