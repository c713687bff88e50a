#include "client/cli/settings.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <string>

#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SettingsTest : public ::testing::Test {
 protected:
  SettingsTest() : path_(::testing::TempDir() + "/config.toml") {}

  void Write(const std::string& text) { std::ofstream(path_) << text; }

  absl::Status Run(std::vector<std::string> words,
                   std::map<std::string, std::string> environment = {}) {
    settings_ = Settings();
    CLI::App app;
    AddSettings(&app, &settings_);
    std::reverse(words.begin(), words.end());
    app.parse(words);
    for (Place place : {Place::kChain, Place::kManagers}) {
      absl::Status located = Locate(
          place, [&](const char* name) { return environment[name]; },
          &settings_);
      if (!located.ok()) return located;
    }
    return absl::OkStatus();
  }

  const std::string path_;
  Settings settings_;
};

constexpr char kTwoClusters[] = R"(
current = "home"
[clusters.home]
seeds = ["h1:1", "h2:2"]
[clusters.away]
seeds = ["a1:1"]
managers = ["m1:1", "m2:2"]
)";

TEST_F(SettingsTest, TheCommandLineGoesFirst) {
  Write(kTwoClusters);
  ASSERT_TRUE(
      Run({"--seeds=x:1,y:2", "--timeout=250ms", "--json", "--config=" + path_},
          {{"KAMINO_SEEDS", "e:1"}, {"KAMINO_MANAGERS", "m:1"}})
          .ok());
  EXPECT_THAT(settings_.seeds, ElementsAre("x:1", "y:2"));
  EXPECT_THAT(settings_.managers, ElementsAre("m:1"));
  EXPECT_EQ(settings_.timeout, absl::Milliseconds(250));
  EXPECT_EQ(settings_.output, Output::kJson);
}

TEST_F(SettingsTest, NamedClusters) {
  Write(kTwoClusters);
  ASSERT_TRUE(Run({}, {{"KAMINO_CONFIG", path_}}).ok());
  EXPECT_THAT(settings_.seeds, ElementsAre("h1:1", "h2:2"));
  EXPECT_THAT(settings_.managers, IsEmpty());
  // A name goes before the environment's addresses.
  ASSERT_TRUE(Run({"--cluster=away"},
                  {{"KAMINO_CONFIG", path_}, {"KAMINO_SEEDS", "e:1"}})
                  .ok());
  EXPECT_THAT(settings_.seeds, ElementsAre("a1:1"));
  EXPECT_THAT(settings_.managers, ElementsAre("m1:1", "m2:2"));
  ASSERT_TRUE(
      Run({}, {{"KAMINO_CONFIG", path_}, {"KAMINO_CLUSTER", "away"}}).ok());
  EXPECT_THAT(settings_.seeds, ElementsAre("a1:1"));
}

TEST_F(SettingsTest, TheDefaultFileNeedNotBeThere) {
  EXPECT_TRUE(Run({}, {{"HOME", "/no/such"}}).ok());
  EXPECT_THAT(settings_.seeds, IsEmpty());
}

TEST_F(SettingsTest, TheFileIsReadOnlyWhenItIsNeeded) {
  Write("one\ntwo =\n");
  EXPECT_TRUE(Run({"--seeds=x:1", "--managers=m:1", "--config=" + path_},
                  {{"KAMINO_CLUSTER", "nowhere"}})
                  .ok());
  EXPECT_THAT(settings_.seeds, ElementsAre("x:1"));
}

TEST_F(SettingsTest, WhatIsWrongIsSaid) {
  const auto message = [&](std::vector<std::string> words) {
    return std::string(Run(std::move(words)).message());
  };
  EXPECT_THAT(message({"--config=/no/such"}), HasSubstr("/no/such"));
  EXPECT_THAT(message({"--cluster=home"}), HasSubstr("where cluster home is"));
  Write(kTwoClusters);
  EXPECT_THAT(message({"--config=" + path_, "--cluster=elsewhere"}),
              HasSubstr("no cluster elsewhere; it has away, home"));
  Write("[clusters.home]\nseeds = \"h1:1\"\n");
  EXPECT_THAT(message({"--config=" + path_, "--cluster=home"}),
              HasSubstr("seeds is no array"));
  Write("current = 5\n");
  EXPECT_THAT(message({"--config=" + path_}), HasSubstr("current is no name"));
  Write("[clusters.home]\nseeds = [\"nonsense\"]\n");
  EXPECT_THAT(message({"--config=" + path_, "--cluster=home"}),
              HasSubstr("seeds is no array"));
  EXPECT_THAT(message({"--config=" + ::testing::TempDir()}),
              HasSubstr("no configuration file"));
  Write("one\ntwo =\n");
  EXPECT_THAT(message({"--config=" + path_}), HasSubstr("line 1"));
}

TEST_F(SettingsTest, DurationsAndFormsAreChecked) {
  for (const char* word :
       {"--timeout=0", "--timeout=soon", "--timeout=-1s", "--output=pretty",
        "--output=JSON", "--seeds", "--seeds=nowhere", "--seeds=h:99999"}) {
    EXPECT_THROW(static_cast<void>(Run({word})), CLI::ParseError) << word;
  }
  ASSERT_TRUE(Run({"--output=raw"}).ok());
  EXPECT_EQ(settings_.output, Output::kRaw);
}

}  // namespace
}  // namespace kamino::client
