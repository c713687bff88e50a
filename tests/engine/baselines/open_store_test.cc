#include "engine/baselines/open_store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "engine/transaction.h"
#include "gtest/gtest.h"
#include "tests/patience.h"

namespace kamino::engine {
namespace {

constexpr size_t kBytes = 16u << 20;

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

TEST_F(OpenStoreTest, BadInputIsAnErrorAndLeavesNoFile) {
  using absl::StatusCode;
  EXPECT_EQ(CodeOf("", kBytes), StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf("undo", kBytes), StatusCode::kInvalidArgument);
  for (double alpha : {0.0, -1.0, 1.5}) {
    EXPECT_EQ(CodeOf("kamino-dynamic", kBytes, true, alpha),
              StatusCode::kInvalidArgument);
  }
  for (const std::string& scheme : AllSchemeNames()) {
    for (size_t bytes : {size_t{0}, kMinStoreBytes - 1, SIZE_MAX}) {
      EXPECT_EQ(CodeOf(scheme, bytes), StatusCode::kInvalidArgument) << scheme;
    }
    EXPECT_EQ(CodeOf(scheme, kBytes, /*fresh=*/false), StatusCode::kNotFound);
    EXPECT_EQ(CodeOf(scheme, size_t{1} << 60), StatusCode::kResourceExhausted)
        << scheme;
    EXPECT_FALSE(FilesExist()) << scheme;
  }
}

TEST_F(OpenStoreTest, FilesThatAreThereAreKept) {
  EXPECT_EQ(AllSchemeNames().size(), 10u + 11u + 3u);
  for (const std::string& scheme : AllSchemeNames()) {
    ASSERT_EQ(CodeOf(scheme, kMinStoreBytes), absl::StatusCode::kOk) << scheme;
    EXPECT_EQ(CodeOf(scheme, kBytes), absl::StatusCode::kAlreadyExists);
    EXPECT_EQ(CodeOf(scheme, kBytes, /*fresh=*/false), absl::StatusCode::kOk);
    RemoveStore(path_);
    EXPECT_FALSE(FilesExist());
  }
}

// The later one leaves the first one's store alone.
TEST_F(OpenStoreTest, OfTwoAtATimeOneMakesIt) {
  for (int round = 0; round < 20; ++round) {
    absl::StatusCode codes[2];
    std::vector<std::thread> threads;
    for (absl::StatusCode& code : codes) {
      threads.emplace_back(
          [&] { code = CodeOf("kamino-simple", kMinStoreBytes); });
    }
    for (std::thread& thread : threads) thread.join();
    const bool first = codes[0] == absl::StatusCode::kOk;
    EXPECT_EQ(codes[first ? 0 : 1], absl::StatusCode::kOk);
    EXPECT_EQ(codes[first ? 1 : 0], absl::StatusCode::kAlreadyExists);
    EXPECT_EQ(CodeOf("kamino-simple", 0, /*fresh=*/false),
              absl::StatusCode::kOk);
    RemoveStore(path_);
  }
}

// A failing caller does not remove another's store either.
TEST_F(OpenStoreTest, WhoFailsLeavesWhatAnotherHasMade) {
  std::atomic<bool> stop{false};
  std::thread failing([&] {
    while (!stop) {
      const auto code = CodeOf("no-such-scheme", kMinStoreBytes);
      EXPECT_TRUE(code == absl::StatusCode::kInvalidArgument ||
                  code == absl::StatusCode::kAlreadyExists)
          << static_cast<int>(code);
    }
  });
  for (int round = 0; round < 100; ++round) {
    EXPECT_EQ(CodeOf("wrap", kMinStoreBytes), absl::StatusCode::kOk);
    EXPECT_TRUE(std::filesystem::exists(path_)) << "round " << round;
    RemoveStore(path_);
  }
  stop = true;
  failing.join();
}

// Dangling links: no file exists, and none can be made.
TEST_F(OpenStoreTest, OnlyWhatItHasMadeIsRemoved) {
  const std::string backup = path_ + ".backup";
  for (const std::string& scheme : AllSchemeNames()) {
    std::filesystem::create_symlink(path_ + ".nowhere", path_);
    EXPECT_EQ(CodeOf(scheme, kMinStoreBytes), absl::StatusCode::kAlreadyExists)
        << scheme;
    EXPECT_TRUE(std::filesystem::is_symlink(path_)) << scheme;
    std::filesystem::remove(path_);
  }
  std::filesystem::create_symlink(path_ + ".nowhere", backup);
  EXPECT_EQ(CodeOf("kamino-simple", kMinStoreBytes),
            absl::StatusCode::kAlreadyExists);
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_TRUE(std::filesystem::is_symlink(backup));
  std::filesystem::remove(backup);
}

TEST_F(OpenStoreTest, WhatIsNoStoreIsRefused) {
  for (const std::string& scheme : AllSchemeNames()) {
    std::ofstream(path_).flush();
    EXPECT_EQ(CodeOf(scheme, 0, /*fresh=*/false),
              absl::StatusCode::kFailedPrecondition)
        << scheme << ", an empty file";
    RemoveStore(path_);
    ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
    EXPECT_EQ(CodeOf(scheme, 0, /*fresh=*/false),
              absl::StatusCode::kFailedPrecondition)
        << scheme << ", a pipe";
    RemoveStore(path_);
  }
}

TEST_F(OpenStoreTest, LogsFillWhereNothingIsDoneBesideTransactions) {
  StoreOptions options;
  options.mode = PmemMode::kForce;
  options.background = false;
  {
    auto store = OpenStore("rewind", path_, kBytes, options);
    ASSERT_TRUE(store.ok()) << store.status();
    for (int i = 0; i < 100; ++i) {
      auto transaction = (*store)->Begin(absl::ZeroDuration());
      ASSERT_TRUE(transaction->Alloc(1000).ok());
      ASSERT_TRUE(transaction->Commit().ok());
    }
    // The files that a crash would leave.
    std::filesystem::copy_file(path_, path_ + ".crash");
  }
  options.fresh = false;
  auto crashed = OpenStore("rewind", path_ + ".crash", kBytes, options);
  ASSERT_TRUE(crashed.ok()) << crashed.status();
  EXPECT_EQ((*crashed)->recovery_report().replayed, 100u);
  crashed->reset();
  RemoveStore(path_ + ".crash");
  RemoveStore(path_);
}

TEST_F(OpenStoreTest, AnotherSchemesFileIsRefused) {
  for (absl::string_view made :
       {"kamino-simple", "undo-own", "cow", "unsafe-each",
        "rewind-2-force-simple", "wrap", "archapt"}) {
    ASSERT_EQ(CodeOf(made, kBytes), absl::StatusCode::kOk);
    for (absl::string_view scheme :
         {"kamino-simple", "kamino-dynamic", "undo-object", "undo-own", "cow",
          "unsafe", "unsafe-each", "rewind", "rewind-2-force-simple", "wrap",
          "archapt"}) {
      EXPECT_EQ(CodeOf(scheme, kBytes, /*fresh=*/false),
                scheme == made ? absl::StatusCode::kOk
                               : absl::StatusCode::kFailedPrecondition)
          << scheme << " on " << made;
    }
    RemoveStore(path_);
  }
}

TEST_F(OpenStoreTest, ErrorsSayWhatIsMeant) {
  StoreOptions options;
  options.mode = PmemMode::kForce;
  const auto message = [&](absl::string_view scheme, size_t bytes = kBytes) {
    return std::string(
        OpenStore(scheme, path_, bytes, options).status().message());
  };
  const std::string unknown = message("wrp");
  for (const std::string& name : AllSchemeNames()) {
    EXPECT_TRUE(absl::StrContains(unknown, name)) << unknown;
  }
  EXPECT_TRUE(absl::StrContains(message("wrap", 100), "8388608 at least"));
  ASSERT_EQ(message("wrap"), "");
  options.fresh = false;
  EXPECT_EQ(
      message("rewind"),
      path_ + " is a store of \"wrap\", not of \"rewind-1-noforce-batch\"");
  EXPECT_EQ(message("undo-range"),
            path_ + " is a store of \"wrap\", not of \"libpmemobj\"");
  RemoveStore(path_);
  options.fresh = true;
  ASSERT_EQ(message("undo-range"), "");
  options.fresh = false;
  EXPECT_EQ(message("cow"),
            path_ + " is a store of \"libpmemobj\", not of \"cow\"");
  RemoveStore(path_);
  // Not a store's file.
  std::ofstream(path_) << std::string(kBytes, 'x');
  for (const std::string& scheme : AllSchemeNames()) {
    EXPECT_TRUE(absl::StrContains(message(scheme), path_)) << message(scheme);
  }
}

TEST_F(OpenStoreTest, SchemesAreTuned) {
  StoreOptions options;
  options.mode = PmemMode::kForce;
  const auto code = [&](absl::string_view scheme) {
    return OpenStore(scheme, path_, kBytes, options).status().code();
  };
  options.rewind.group = 0;
  EXPECT_EQ(code("rewind-2-noforce-batch"), absl::StatusCode::kInvalidArgument);
  options.archapt.columns = 1;
  EXPECT_EQ(code("archapt"), absl::StatusCode::kInvalidArgument);
  options.archapt = ArchaptOptions();
  options.archapt.unchecked = true;
  EXPECT_EQ(code("archapt"), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(FilesExist());
  // A log for a smaller queue is smaller.
  uint64_t used[2];
  for (int i = 0; i < 2; ++i) {
    options.archapt = ArchaptOptions();
    if (i == 0) options.archapt.queue_bytes = 64u << 10;
    const auto archapt = OpenStore("archapt", path_, kBytes, options);
    ASSERT_TRUE(archapt.ok()) << archapt.status();
    used[i] = (*archapt)->bytes_used();
    RemoveStore(path_);
  }
  EXPECT_LT(2 * used[0], used[1]);
  // The name tells the format on media, the options the rest.
  options.rewind = RewindOptions();
  options.rewind.layers = 2;
  options.rewind.checkpoint_records = 1;
  const auto rewind = OpenStore("rewind", path_, kBytes, options);
  ASSERT_TRUE(rewind.ok()) << rewind.status();
  EXPECT_EQ((*rewind)->scheme(), "rewind-1-noforce-batch");
}

// Otherwise a waiting transaction would fail at once, without a reason.
TEST_F(OpenStoreTest, AWaitThatIsNegativeIsRefused) {
  for (const absl::Duration wait :
       {absl::Milliseconds(-1), -absl::InfiniteDuration()}) {
    StoreOptions options;
    options.mode = PmemMode::kForce;
    options.rewind.log_wait = wait;
    options.archapt.log_wait = wait;
    options.wrap.log_wait = wait;
    for (const bool fresh : {true, false}) {
      for (absl::string_view scheme :
           {"rewind", "rewind-2-force-simple", "wrap", "archapt"}) {
        if (!fresh) {
          ASSERT_EQ(CodeOf(scheme, kBytes), absl::StatusCode::kOk);
        }
        options.fresh = fresh;
        const auto refused = OpenStore(scheme, path_, kBytes, options).status();
        EXPECT_TRUE(absl::IsInvalidArgument(refused))
            << scheme << ": " << refused;
        EXPECT_TRUE(absl::StrContains(
            refused.message(),
            absl::StrCat("log_wait of ", absl::FormatDuration(wait))))
            << scheme << ": " << refused;
        EXPECT_EQ(FilesExist(), !fresh) << scheme;
        RemoveStore(path_);
      }
    }
  }
}

TEST_F(OpenStoreTest, WrapsLogIsTuned) {
  StoreOptions options;
  options.mode = PmemMode::kForce;
  const auto code = [&] {
    return OpenStore("wrap", path_, kBytes, options).status().code();
  };
  for (size_t log_bytes : {size_t{1}, size_t{4095}, size_t{1} << 20 | 64,
                           kBytes / 2 + 4096, SIZE_MAX / 4096 * 4096}) {
    options.wrap.log_bytes = log_bytes;
    EXPECT_EQ(code(), absl::StatusCode::kInvalidArgument) << log_bytes;
  }
  options.wrap.log_bytes = 0;
  for (uint64_t bucket_bytes :
       {uint64_t{0}, uint64_t{500}, uint64_t{1} << 40}) {
    options.wrap.bucket_bytes = bucket_bytes;
    EXPECT_EQ(code(), absl::StatusCode::kInvalidArgument) << bucket_bytes;
  }
  EXPECT_FALSE(FilesExist());
  options.wrap = WrapOptions();
  uint64_t used[2];
  for (int i = 0; i < 2; ++i) {
    options.wrap.log_bytes = (i + 1) * kBytes / 4;
    const auto wrap = OpenStore("wrap", path_, kBytes, options);
    ASSERT_TRUE(wrap.ok()) << wrap.status();
    used[i] = (*wrap)->bytes_used();
    RemoveStore(path_);
  }
  EXPECT_EQ(used[1] - used[0], kBytes / 4);
}

// Transactions under way take all buckets, until one finds none and waits.
TEST_F(OpenStoreTest, WrapWaitsForOthersAsLongAsItIsToldTo) {
  StoreOptions options;
  options.mode = PmemMode::kForce;
  options.wrap.log_bytes = 8192;
  options.wrap.bucket_bytes = 2048;
  options.wrap.log_wait = absl::Milliseconds(300);
  const auto store = OpenStore("wrap", path_, kBytes, options);
  ASSERT_TRUE(store.ok()) << store.status();
  std::vector<ObjectId> ids;
  for (int i = 0; i < 4; ++i) {
    auto transaction = (*store)->Begin(absl::ZeroDuration());
    ids.push_back(*transaction->Alloc(100));
    ASSERT_TRUE(transaction->Commit().ok());
  }
  (*store)->Quiesce();
  const std::byte bytes[64] = {};
  std::vector<std::unique_ptr<Transaction>> open;
  absl::Status done;
  auto begun = std::chrono::steady_clock::now();
  for (size_t i = 0; i < ids.size() && done.ok(); ++i) {
    open.push_back((*store)->Begin(absl::ZeroDuration()));
    begun = std::chrono::steady_clock::now();
    done = open.back()->Overwrite(ids[i], 0, bytes);
  }
  EXPECT_TRUE(absl::IsResourceExhausted(done)) << done;
  EXPECT_GE(std::chrono::steady_clock::now() - begun,
            std::chrono::milliseconds(300));
  for (const auto& transaction : open) EXPECT_TRUE(transaction->Abort().ok());
}

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

  const std::string crash_ = path_ + ".crash";
  StoreOptions options_;
};

TEST_F(AfterACrashTest, OpeningKnowsWhatTheDocumentSays) {
  for (const Row& row : {Row{"kamino-simple", 1004, 0, 0},
                         {"kamino-dynamic", 1004, 0, 0},
                         {"undo-object", 0, 0, 0},
                         {"undo-range", 0, 0, 0},
                         {"undo-own", 0, 0, 1},
                         {"cow", 0, 0, 0},
                         {"unsafe", 0, 0, 0},
                         {"rewind-1-noforce-batch", 1004, 5, 1},
                         {"rewind-2-force-simple", 1004, 0, 1},
                         {"wrap", 1004, 5, 0},
                         {"archapt", 5, 0, 1}}) {
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
}

}  // namespace
}  // namespace kamino::engine
