#include "engine/baselines/open_store.h"

#include <unistd.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

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
  for (absl::string_view scheme : SchemeNames()) {
    EXPECT_EQ(CodeOf(scheme, 1 << 20), StatusCode::kInvalidArgument) << scheme;
    EXPECT_EQ(CodeOf(scheme, kBytes, /*fresh=*/false), StatusCode::kNotFound);
    EXPECT_EQ(CodeOf(scheme, size_t{1} << 60), StatusCode::kResourceExhausted)
        << scheme;
    EXPECT_FALSE(FilesExist()) << scheme;
  }
}

TEST_F(OpenStoreTest, FilesThatAreThereAreKept) {
  for (absl::string_view scheme : SchemeNames()) {
    ASSERT_EQ(CodeOf(scheme, kBytes), absl::StatusCode::kOk) << scheme;
    EXPECT_EQ(CodeOf(scheme, kBytes), absl::StatusCode::kAlreadyExists);
    EXPECT_EQ(CodeOf(scheme, kBytes, /*fresh=*/false), absl::StatusCode::kOk);
    RemoveStore(path_);
    EXPECT_FALSE(FilesExist());
  }
}

TEST_F(OpenStoreTest, RivalsAreOpenedByNameToo) {
  for (absl::string_view scheme : {"unsafe-each", "cached", "undo-each"}) {
    ASSERT_EQ(CodeOf(scheme, kBytes), absl::StatusCode::kOk) << scheme;
    EXPECT_EQ(CodeOf(scheme, kBytes, /*fresh=*/false), absl::StatusCode::kOk);
    EXPECT_EQ(CodeOf("unsafe", kBytes, /*fresh=*/false),
              absl::StatusCode::kFailedPrecondition);
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
    // As a crash would leave it.
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
  for (absl::string_view made : {"kamino-simple", "undo-own", "cow",
                                 "rewind-2-force-simple", "wrap", "archapt"}) {
    ASSERT_EQ(CodeOf(made, kBytes), absl::StatusCode::kOk);
    for (absl::string_view scheme :
         {"kamino-simple", "kamino-dynamic", "undo-object", "undo-own", "cow",
          "unsafe", "rewind", "rewind-2-force-simple", "wrap", "archapt"}) {
      EXPECT_EQ(CodeOf(scheme, kBytes, /*fresh=*/false),
                scheme == made ? absl::StatusCode::kOk
                               : absl::StatusCode::kFailedPrecondition)
          << scheme << " on " << made;
    }
    RemoveStore(path_);
  }
}

}  // namespace
}  // namespace kamino::engine
