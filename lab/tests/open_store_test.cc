// The laboratory's schemes by name, beside the engine's.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/engine/baselines/open_store_fixture.h"

namespace kamino::engine {
namespace {

TEST_F(OpenStoreTest, EveryLinkedSchemeOpensByName) {
  EXPECT_EQ(AllSchemeNames().size(), 10u + 11u + 3u);
  EXPECT_EQ(SchemeNames().back(), "archapt");
  for (const std::string& scheme : AllSchemeNames()) {
    ASSERT_EQ(CodeOf(scheme, kMinStoreBytes), absl::StatusCode::kOk) << scheme;
    EXPECT_EQ(CodeOf(scheme, kBytes), absl::StatusCode::kAlreadyExists);
    EXPECT_EQ(CodeOf(scheme, kBytes, /*fresh=*/false), absl::StatusCode::kOk);
    RemoveStore(path_);
    EXPECT_FALSE(FilesExist());
    EXPECT_EQ(CodeOf(scheme, size_t{1} << 60),
              absl::StatusCode::kResourceExhausted)
        << scheme;
    EXPECT_FALSE(FilesExist()) << scheme;
  }
}

TEST_F(OpenStoreTest, WithoutBackgroundWorkTheLogKeepsEveryTransaction) {
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

TEST_F(OpenStoreTest, ErrorsSayWhichOptionIsWrong) {
  StoreOptions options;
  options.mode = PmemMode::kForce;
  const auto message = [&](absl::string_view scheme, const char* text) {
    options.scheme_options = text;
    return std::string(
        OpenStore(scheme, path_, kBytes, options).status().message());
  };
  const struct {
    const char* scheme;
    const char* text;
    const char* said;
  } kWrong[] = {
      {"wrap", "group=16",
       "has no option \"group\"; it has log_bytes, bucket_bytes, log_wait"},
      {"rewind", "group=x", "option \"group\" takes a number, not \"x\""},
      {"rewind", "group", "option \"group\" takes a number, not \"\""},
      {"rewind", "scans=1", "option \"scans\" takes no value, not \"1\""},
      {"rewind", "group=1,group=2", "option \"group\" is given twice"},
      {"archapt", "patience=5", "takes a duration such as 250ms, not \"5\""},
  };
  for (const auto& wrong : kWrong) {
    const std::string said = message(wrong.scheme, wrong.text);
    EXPECT_TRUE(absl::StrContains(said, wrong.said)) << said;
    EXPECT_TRUE(absl::StrContains(said, path_)) << said;
    EXPECT_FALSE(FilesExist());
  }
}

TEST_F(OpenStoreTest, ErrorNamesTheSchemeOfTheFile) {
  ASSERT_EQ(CodeOf("wrap", kBytes), absl::StatusCode::kOk);
  StoreOptions options;
  options.mode = PmemMode::kForce;
  options.fresh = false;
  EXPECT_EQ(
      OpenStore("rewind", path_, kBytes, options).status().message(),
      path_ + " is a store of \"wrap\", not of \"rewind-1-noforce-batch\"");
}

TEST_F(OpenStoreTest, OptionsConfigureSchemes) {
  StoreOptions options;
  options.mode = PmemMode::kForce;
  const auto code = [&](absl::string_view scheme) {
    return OpenStore(scheme, path_, kBytes, options).status().code();
  };
  options.scheme_options = "group=0";
  EXPECT_EQ(code("rewind-2-noforce-batch"), absl::StatusCode::kInvalidArgument);
  options.scheme_options = "columns=1";
  EXPECT_EQ(code("archapt"), absl::StatusCode::kInvalidArgument);
  options.scheme_options = "unchecked";
  options.may_lose = true;
  EXPECT_EQ(code("archapt"), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(FilesExist());
  // A log for a smaller queue is smaller.
  uint64_t used[2];
  for (int i = 0; i < 2; ++i) {
    options.scheme_options = i == 0 ? "queue_bytes=65536" : "";
    const auto archapt = OpenStore("archapt", path_, kBytes, options);
    ASSERT_TRUE(archapt.ok()) << archapt.status();
    used[i] = (*archapt)->bytes_used();
    RemoveStore(path_);
  }
  EXPECT_LT(2 * used[0], used[1]);
  // The name tells the format on media, the options the rest.
  options.scheme_options = "checkpoint=1,scans";
  const auto rewind = OpenStore("rewind", path_, kBytes, options);
  ASSERT_TRUE(rewind.ok()) << rewind.status();
  EXPECT_EQ((*rewind)->scheme(), "rewind-1-noforce-batch");
}

// Otherwise a waiting transaction would fail at once, without a reason.
TEST_F(OpenStoreTest, ANegativeLogWaitIsRefused) {
  for (const absl::Duration wait :
       {absl::Milliseconds(-1), -absl::InfiniteDuration()}) {
    StoreOptions options;
    options.mode = PmemMode::kForce;
    options.scheme_options =
        absl::StrCat("log_wait=", absl::FormatDuration(wait));
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

TEST_F(OpenStoreTest, OptionsConfigureTheWrapLog) {
  StoreOptions options;
  options.mode = PmemMode::kForce;
  const auto code = [&] {
    return OpenStore("wrap", path_, kBytes, options).status().code();
  };
  for (size_t log_bytes : {size_t{1}, size_t{4095}, size_t{1} << 20 | 64,
                           kBytes / 2 + 4096, SIZE_MAX / 4096 * 4096}) {
    options.scheme_options = absl::StrCat("log_bytes=", log_bytes);
    EXPECT_EQ(code(), absl::StatusCode::kInvalidArgument) << log_bytes;
  }
  for (uint64_t bucket_bytes :
       {uint64_t{0}, uint64_t{500}, uint64_t{1} << 40}) {
    options.scheme_options = absl::StrCat("bucket_bytes=", bucket_bytes);
    EXPECT_EQ(code(), absl::StatusCode::kInvalidArgument) << bucket_bytes;
  }
  EXPECT_FALSE(FilesExist());
  uint64_t used[2];
  for (int i = 0; i < 2; ++i) {
    options.scheme_options = absl::StrCat("log_bytes=", (i + 1) * kBytes / 4);
    const auto wrap = OpenStore("wrap", path_, kBytes, options);
    ASSERT_TRUE(wrap.ok()) << wrap.status();
    used[i] = (*wrap)->bytes_used();
    RemoveStore(path_);
  }
  EXPECT_EQ(used[1] - used[0], kBytes / 4);
}

// Transactions under way take all buckets, until one finds none and waits.
TEST_F(OpenStoreTest, WrapWaitsForLogSpaceUpToLogWait) {
  StoreOptions options;
  options.mode = PmemMode::kForce;
  options.scheme_options = "log_bytes=8192,bucket_bytes=2048,log_wait=300ms";
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

TEST_F(AfterACrashTest, RecoveryReportMatchesTheDocument) {
  for (const Row& row : {Row{"rewind-1-noforce-batch", 1004, 5, 1},
                         {"rewind-2-force-simple", 1004, 0, 1},
                         {"wrap", 1004, 5, 0},
                         {"archapt", 5, 0, 1}}) {
    Check(row);
  }
}

}  // namespace
}  // namespace kamino::engine
