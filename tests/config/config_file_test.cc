#include "config/config_file.h"

#include <sys/stat.h>

#include <fstream>
#include <string>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "config/example.h"
#include "config/nearest_name.h"
#include "config/own_flags.h"
#include "config/toml_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

ABSL_FLAG(std::string, test_place, "here", "Where it \"stands\".");
ABSL_FLAG(int, test_length, 4, "How long.");
ABSL_FLAG(uint64_t, test_size, 4, "How large.");
ABSL_FLAG(double, test_part, 0.25, "Which part.");
ABSL_FLAG(bool, test_quick, true, "Whether it is quick.");
ABSL_FLAG(absl::Duration, test_patience, absl::Seconds(1), "How long at most.");

namespace kamino::config {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class ConfigFileTest : public ::testing::Test {
 protected:
  std::string path_ = ::testing::TempDir() + "/kamino.toml";

  void Write(const std::string& text) { std::ofstream(path_) << text; }
  std::string Refusal(const std::string& text) {
    Write(text);
    return std::string(ReadConfigFile(path_, "node").status().message());
  }
};

TEST_F(ConfigFileTest, ASectionOverridesTheSharedSettings) {
  Write(R"(
test_place = "for all"
test_length = 5
[node]
test_place = "the node's"
test_part = 1
test_quick = false
test_patience = "250ms"
[manager]
unknown_to_a_node = 1
[clusters.home]
seeds = ["a:1"]
)");
  auto values = ReadConfigFile(path_, "node");
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ(values->size(), 5u);
  EXPECT_EQ((*values)["test_place"].text, "the node's");
  EXPECT_EQ((*values)["test_place"].line, 5);
  EXPECT_EQ((*values)["test_length"].text, "5");
  EXPECT_EQ((*values)["test_part"].text, "1");
  EXPECT_EQ((*values)["test_quick"].text, "false");
  EXPECT_EQ((*values)["test_patience"].text, "250ms");
  EXPECT_EQ(absl::GetFlag(FLAGS_test_length), 4) << "reading sets nothing";
}

TEST_F(ConfigFileTest, TextsInAnArrayAreJoined) {
  Write("test_place = [\"a:1\", \"b:2\"]\n");
  auto values = ReadConfigFile(path_, "node");
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ((*values)["test_place"].text, "a:1,b:2");
  EXPECT_THAT(Refusal("test_place = [\"a\", 1]"), HasSubstr("without commas"));
  EXPECT_THAT(Refusal("test_place = [\"a,b\"]"), HasSubstr("without commas"));
}

TEST_F(ConfigFileTest, AnUnknownNameIsAnErrorThatSuggestsTheNearest) {
  EXPECT_EQ(Refusal("[node]\n\ntest_lenght = 1\n"),
            path_ +
                ":3: kamino_node has no setting test_lenght (did you mean "
                "test_length?)");
  EXPECT_THAT(Refusal("[nodes]\ntest_length = 1\n"),
              HasSubstr("has no section [nodes] (did you mean node?)"));
  EXPECT_THAT(Refusal("chain_of_command = 1\n"),
              HasSubstr("has no setting chain_of_command; put settings"));
  // Flags that name the configuration cannot be in it, nor can a library's
  // flags.
  EXPECT_THAT(Refusal("config = \"x\"\n"), HasSubstr("has no setting config"));
  EXPECT_THAT(Refusal("flagfile = \"x\"\n"), HasSubstr("no setting flagfile"));
}

TEST_F(ConfigFileTest, DeepNestingIsAnError) {
  std::string deep = "a";
  for (int i = 0; i < 500000; ++i) deep += ".a";
  const std::string dots = "more than 32 dots outside of texts";
  EXPECT_THAT(Refusal(deep + " = 1\n"),
              StartsWith(absl::StrCat(path_, ":1: has ", dots)));
  EXPECT_THAT(Refusal("# so it is\n[" + deep + "]\n"),
              StartsWith(absl::StrCat(path_, ":2: has ", dots)));
  EXPECT_THAT(Refusal("x = \'\'\'...\n...\'\'\'\n" + deep + " = 1\n"),
              StartsWith(absl::StrCat(path_, ":3: has ", dots)));
  // Texts and comments have as many as they like.
  const std::string many(1000, '.');
  Write(absl::StrCat("test_place = \"\\\"", many, "\"  # ", many, "\n"));
  EXPECT_TRUE(ReadConfigFile(path_, "node").ok());
  Write(absl::StrCat("test_place = \"\"\"\n", many, "\\\"\"\"\"\"\n"));
  EXPECT_TRUE(ReadConfigFile(path_, "node").ok());
  Write(absl::StrCat("test_place = '", many, "'\n"));
  EXPECT_TRUE(ReadConfigFile(path_, "node").ok());
}

TEST_F(ConfigFileTest, ASectionIsATable) {
  EXPECT_THAT(Refusal("node = 5\n"),
              HasSubstr(":1: node is a section, [node], not a whole number"));
  EXPECT_THAT(Refusal("[[node]]\ntest_length = 5\n"),
              HasSubstr(":1: node is a section, [node], not an array"));
}

TEST_F(ConfigFileTest, AValueOfTheWrongTypeIsAnError) {
  EXPECT_EQ(Refusal("\ntest_length = \"4\"\n"),
            path_ + ":2: test_length must be a whole number, not a text");
  EXPECT_THAT(Refusal("test_length = 4.5"), HasSubstr("a number with a point"));
  EXPECT_THAT(Refusal("test_quick = 1"), HasSubstr("must be true or false"));
  EXPECT_THAT(Refusal("test_part = true"), HasSubstr("must be a number"));
  EXPECT_THAT(Refusal("test_place = 5"), HasSubstr("must be a text in quotes"));
  EXPECT_THAT(Refusal("[test_place]"), HasSubstr("not a table"));
  EXPECT_THAT(Refusal("node = 5"), HasSubstr("node is a section, [node]"));
  EXPECT_THAT(Refusal("test_size = -1"), HasSubstr("test_size cannot be -1"));
  EXPECT_THAT(Refusal("test_length = 99999999999"), HasSubstr("cannot be 9"));
  EXPECT_THAT(Refusal("test_patience = \"soon\""), HasSubstr("cannot be soon"));
}

TEST_F(ConfigFileTest, ErrorsExplainAnUnreadableFile) {
  EXPECT_THAT(Refusal("a = 1\nb =\n"), StartsWith(path_ + ":2: "));
  EXPECT_THAT(Refusal("a = 1\na = 2\n"), StartsWith(path_ + ":2: "));
  EXPECT_THAT(Refusal(std::string(2 << 20, '#')),
              HasSubstr("has over 1048576"));
  path_ = ::testing::TempDir();
  EXPECT_THAT(Refusal(""), HasSubstr("is a folder"));
  path_ = "/no/such";
  EXPECT_THAT(Refusal(""), HasSubstr("/no/such: the configuration file cannot "
                                     "be read: No such file"));
  path_ = ::testing::TempDir() + "/pipe";
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(std::string(ReadConfigFile(path_, "node").status().message()),
              HasSubstr("is no regular file"));
}

// The example is all of it: what it has behind # is what holds without.
TEST_F(ConfigFileTest, TheExampleHasEverySetting) {
  const std::string example =
      ExampleSection("node", {{"test_place", "a \"b\" \\c"}});
  EXPECT_THAT(example, HasSubstr("\n# How long.\n#test_length = 4\n"));
  EXPECT_THAT(example, HasSubstr("\n# Where it \"stands\".\ntest_place = "));
  std::string all = example;
  for (size_t i = 0; (i = all.find("\n#test_", i)) != std::string::npos;) {
    all.erase(i + 1, 1);
  }
  Write(all);
  auto values = ReadConfigFile(path_, "node");
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ((*values)["test_place"].text, "a \"b\" \\c");
  for (const auto& [name, flag] : OwnFlags()) {
    EXPECT_EQ(values->count(name), 1u) << name;
  }
}

TEST(OwnFlagsTest, FindsTheFlagsOfTheCommandLine) {
  const char* words[] = {"program",        "--test_length=5",
                         "-test_part",     "1",
                         "--notest_quick", "--no",
                         "--nothing",      "--",
                         "--test_place=x"};
  EXPECT_EQ(TypedFlags(9, words),
            (std::set<std::string>{"test_length", "test_part", "test_quick"}));
}

TEST(NearestNameTest, HasTheSmallestEditDistance) {
  const std::vector<std::string> names = {"heap_mb", "ring_mb", "listen"};
  EXPECT_EQ(NearestName("heapmb", names), "heap_mb");
  EXPECT_EQ(NearestName("hepa_mb", names), "heap_mb");
  EXPECT_EQ(NearestName("lisen", names), "listen");
  EXPECT_EQ(NearestName("data_dir", names), "");
  EXPECT_EQ(NearestName(std::string(1 << 20, 'x'), names), "");
  EXPECT_EQ(NearestName("", names), "");
}

}  // namespace
}  // namespace kamino::config
