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
#include "tests/engine/baselines/open_store_fixture.h"

namespace kamino::engine {
namespace {

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

TEST_F(OpenStoreTest, ExistingFilesAreKept) {
  for (const std::string& scheme : AllSchemeNames()) {
    ASSERT_EQ(CodeOf(scheme, kMinStoreBytes), absl::StatusCode::kOk) << scheme;
    EXPECT_EQ(CodeOf(scheme, kBytes), absl::StatusCode::kAlreadyExists);
    EXPECT_EQ(CodeOf(scheme, kBytes, /*fresh=*/false), absl::StatusCode::kOk);
    RemoveStore(path_);
    EXPECT_FALSE(FilesExist());
  }
}

// The later one leaves the first one's store alone.
TEST_F(OpenStoreTest, OneOfTwoConcurrentCallersCreatesTheStore) {
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
TEST_F(OpenStoreTest, AFailingCallerKeepsAnothersStore) {
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
    EXPECT_EQ(CodeOf("cow", kMinStoreBytes), absl::StatusCode::kOk);
    EXPECT_TRUE(std::filesystem::exists(path_)) << "round " << round;
    RemoveStore(path_);
  }
  stop = true;
  failing.join();
}

// Dangling links: no file exists, and none can be made.
TEST_F(OpenStoreTest, OnlyItsOwnFilesAreRemoved) {
  const std::string undo_copy = path_ + ".backup";
  for (const std::string& scheme : AllSchemeNames()) {
    std::filesystem::create_symlink(path_ + ".nowhere", path_);
    EXPECT_EQ(CodeOf(scheme, kMinStoreBytes), absl::StatusCode::kAlreadyExists)
        << scheme;
    EXPECT_TRUE(std::filesystem::is_symlink(path_)) << scheme;
    std::filesystem::remove(path_);
  }
  std::filesystem::create_symlink(path_ + ".nowhere", undo_copy);
  EXPECT_EQ(CodeOf("kamino-simple", kMinStoreBytes),
            absl::StatusCode::kAlreadyExists);
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_TRUE(std::filesystem::is_symlink(undo_copy));
  std::filesystem::remove(undo_copy);
}

TEST_F(OpenStoreTest, FilesThatAreNoStoreAreRefused) {
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

TEST_F(OpenStoreTest, AnotherSchemesFileIsRefused) {
  for (absl::string_view made :
       {"kamino-simple", "undo-own", "cow", "unsafe-each"}) {
    ASSERT_EQ(CodeOf(made, kBytes), absl::StatusCode::kOk);
    for (absl::string_view scheme :
         {"kamino-simple", "kamino-dynamic", "undo-object", "undo-own", "cow",
          "unsafe", "unsafe-each"}) {
      EXPECT_EQ(CodeOf(scheme, kBytes, /*fresh=*/false),
                scheme == made ? absl::StatusCode::kOk
                               : absl::StatusCode::kFailedPrecondition)
          << scheme << " on " << made;
    }
    RemoveStore(path_);
  }
}

TEST_F(OpenStoreTest, ErrorsNameSchemesSizesAndPaths) {
  StoreOptions options;
  options.mode = PmemMode::kForce;
  const auto message = [&](absl::string_view scheme, size_t bytes = kBytes) {
    return std::string(
        OpenStore(scheme, path_, bytes, options).status().message());
  };
  const std::string unknown = message("udno");
  for (const std::string& name : AllSchemeNames()) {
    EXPECT_TRUE(absl::StrContains(unknown, name)) << unknown;
  }
  EXPECT_TRUE(absl::StrContains(message("cow", 100), "8388608 at least"));
  ASSERT_EQ(message("cow"), "");
  options.fresh = false;
  EXPECT_EQ(message("undo-own"),
            path_ + " is a store of \"cow\", not of \"undo-own\"");
  EXPECT_EQ(message("undo-range"),
            path_ + " is a store of \"cow\", not of \"libpmemobj\"");
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

TEST_F(OpenStoreTest, UnknownOptionsAreRefused) {
  StoreOptions options;
  options.mode = PmemMode::kForce;
  options.scheme_options = "group=16";
  for (const char* scheme : {"cow", "undo-range", "kamino-simple"}) {
    const auto refused = OpenStore(scheme, path_, kBytes, options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
    EXPECT_TRUE(absl::StrContains(refused.message(), "group=16")) << refused;
    EXPECT_FALSE(FilesExist());
  }
}

TEST_F(AfterACrashTest, RecoveryReportMatchesTheDocument) {
  for (const Row& row : {Row{"kamino-simple", 1004, 0, 0},
                         {"kamino-dynamic", 1004, 0, 0},
                         {"undo-object", 0, 0, 0},
                         {"undo-range", 0, 0, 0},
                         {"undo-own", 0, 0, 1},
                         {"cow", 0, 0, 0},
                         {"unsafe", 0, 0, 0}}) {
    Check(row);
  }
}

}  // namespace
}  // namespace kamino::engine
