#include "config/program_config.h"

#include <fstream>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/reflection.h"
#include "absl/strings/str_cat.h"
#include "config/reload.h"
#include "glog/logging.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

ABSL_FLAG(std::string, test_level, "info", "Can be reloaded.");
ABSL_FLAG(int, test_limit, 1, "Can be reloaded, by another.");
ABSL_FLAG(int, test_size, 1, "Cannot.");

namespace kamino::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Lines : public google::LogSink {
 public:
  Lines() { google::AddLogSink(this); }
  ~Lines() override { google::RemoveLogSink(this); }
  void send(google::LogSeverity severity, const char*, const char*, int,
            const google::LogMessageTime&, const char* message,
            size_t size) override {
    lines.push_back(absl::StrCat(google::GetLogSeverityName(severity), " ",
                                 absl::string_view(message, size)));
  }
  std::vector<std::string> lines;
};

class ProgramConfigTest : public ::testing::Test {
 protected:
  ProgramConfigTest()
      : level_(Reloads::Get().Add(
            {"the level", {"test_level"}, [this] { return Take("level"); }})),
        limit_(Reloads::Get().Add(
            {"the limit", {"test_limit"}, [this] { return Take("limit"); }})) {}

  absl::Status Load(const std::string& text,
                    std::vector<std::string> words = {}) {
    Write(text);
    words.insert(words.begin(), {"program", "--config", path_});
    std::vector<const char*> argv;
    for (const std::string& word : words) argv.push_back(word.c_str());
    return config_.Load(static_cast<int>(argv.size()), argv.data());
  }
  void Write(const std::string& text) { std::ofstream(path_) << text; }

  // Log lines of a reload.
  std::vector<std::string> Reload() {
    taken_.clear();
    const Lines said;
    config_.Reload([this] { return check_; });
    return said.lines;
  }

  absl::FlagSaver saver_;
  const std::string path_ = ::testing::TempDir() + "/program.toml";
  ProgramConfig config_{"node"};
  absl::Status check_;
  std::vector<std::string> taken_;
  std::string errs_;  // who refuses

 private:
  absl::Status Take(const std::string& who) {
    if (who == errs_) return absl::InvalidArgumentError("it will not do");
    taken_.push_back(who);
    return absl::OkStatus();
  }

  Reloads::Registration level_, limit_;
};

TEST_F(ProgramConfigTest, TheFileSetsFlagsThatTheCommandLineLeavesUnset) {
  ASSERT_TRUE(Load("test_limit = 7\ntest_size = 8\n", {"--test_size=9"}).ok());
  EXPECT_EQ(absl::GetFlag(FLAGS_test_limit), 7);
  EXPECT_EQ(config_.WithPlace("--test_limit must be less"),
            path_ + ":1: --test_limit must be less");
  EXPECT_EQ(config_.WithPlace("--test_size must be less"),
            "--test_size must be less");
  EXPECT_EQ(config_.WithPlace("no flag"), "no flag");
}

TEST_F(ProgramConfigTest, AnInvalidFileSetsNothing) {
  EXPECT_FALSE(Load("test_limit = 7\nsize = 8\n").ok());
  EXPECT_EQ(absl::GetFlag(FLAGS_test_limit), 1);
  const char* words[] = {"program", "--config="};
  EXPECT_THAT(std::string(ProgramConfig("node").Load(2, words).message()),
              HasSubstr("names no file"));
}

TEST_F(ProgramConfigTest, AReloadChangesReloadableFlags) {
  ASSERT_TRUE(Load("test_level = \"error\"\ntest_size = 2\n").ok());
  Write("test_limit = 5\ntest_size = 2\n");
  EXPECT_THAT(Reload(),
              ElementsAre("INFO SIGHUP: read anew: the level, the limit; "
                          "changed: --test_level, --test_limit"));
  EXPECT_THAT(taken_, ElementsAre("level", "limit"));
  EXPECT_EQ(absl::GetFlag(FLAGS_test_level), "info") << "the default again";
  EXPECT_EQ(absl::GetFlag(FLAGS_test_limit), 5);
}

TEST_F(ProgramConfigTest, AReloadNamesFlagsThatNeedARestart) {
  ASSERT_TRUE(Load("test_size = 2\n").ok());
  Write("test_size = 3\n");
  const auto said = Reload();
  ASSERT_EQ(said.size(), 2u);
  EXPECT_THAT(said[1],
              HasSubstr("WARNING SIGHUP: --test_size has changed in " + path_));
  EXPECT_EQ(absl::GetFlag(FLAGS_test_size), 2);
}

TEST_F(ProgramConfigTest, AReloadKeepsFlagsOfTheCommandLine) {
  absl::SetFlag(&FLAGS_test_level, "error");
  ASSERT_TRUE(Load("", {"--test_level=error"}).ok());
  Write("test_level = \"warning\"\n");
  EXPECT_EQ(Reload().size(), 1u);
  EXPECT_EQ(absl::GetFlag(FLAGS_test_level), "error");
}

TEST_F(ProgramConfigTest, ABrokenFileChangesNothing) {
  ASSERT_TRUE(Load("test_limit = 2\n").ok());
  Write("test_limit = 3\ntest_level = 5\n");
  EXPECT_THAT(
      Reload(),
      ElementsAre("ERROR SIGHUP: the settings stay unchanged: " + path_ +
                  ":2: test_level must be a text in quotes, not a "
                  "whole number"));
  EXPECT_THAT(taken_, IsEmpty());
  EXPECT_EQ(absl::GetFlag(FLAGS_test_limit), 2);
  // Found wrong only by the program.
  Write("\ntest_limit = 3\n");
  check_ = absl::InvalidArgumentError("--test_limit is odd");
  EXPECT_THAT(Reload(),
              ElementsAre("ERROR SIGHUP: the settings stay unchanged: " +
                          path_ + ":2: --test_limit is odd"));
  EXPECT_THAT(taken_, IsEmpty());
  EXPECT_EQ(absl::GetFlag(FLAGS_test_limit), 2);
}

TEST_F(ProgramConfigTest, AFailedReloaderKeepsItsFlags) {
  ASSERT_TRUE(Load("test_limit = 2\n").ok());
  Write("test_limit = 3\ntest_level = \"error\"\n");
  errs_ = "limit";
  EXPECT_EQ(Reload()[0],
            "ERROR SIGHUP: the limit: not taken on: it will not do");
  EXPECT_EQ(absl::GetFlag(FLAGS_test_limit), 2);
  EXPECT_EQ(absl::GetFlag(FLAGS_test_level), "error");
}

TEST_F(ProgramConfigTest, ReloadersAreCalledWithoutAFile) {
  EXPECT_THAT(Reload(),
              ElementsAre("INFO SIGHUP: read anew: the level, the limit"));
}

TEST(ReloadsTest, AnUnregisteredReloaderIsNotCalled) {
  int calls = 0;
  const auto call = [&calls](const Reloader&) { ++calls; };
  Reloads::Get().ForEach(call);
  EXPECT_EQ(calls, 0);
  {
    Reloads::Registration kept;
    {
      auto made = Reloads::Get().Add({"x", {}, [] { return absl::Status(); }});
      kept = std::move(made);
    }
    Reloads::Get().ForEach(call);
    EXPECT_EQ(calls, 1);
  }
  Reloads::Get().ForEach(call);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace kamino::config
