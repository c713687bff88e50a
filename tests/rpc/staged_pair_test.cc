#include "rpc/staged_pair.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/security/test_certificates.h"

namespace kamino::rpc {
namespace {

class StagedPairTest : public ::testing::Test {
 protected:
  StagedPairTest()
      : folder_(absl::StrCat(::testing::TempDir(), "/staged_pair")) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    setenv("TMPDIR", folder_.c_str(), /*overwrite=*/1);
  }

  int Folders() const {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      (void)entry;
      ++count;
    }
    return count;
  }

  // A process that has a pair ends, and cannot tidy up.
  static void HaveOneKilled() {
    const pid_t child = fork();
    if (child == 0) {
      const auto pair = StagedPair::Make({"c", "k", "a"});
      _exit(pair.ok() ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }

  const std::string folder_;
};

TEST_F(StagedPairTest, EachReplacementIsCompleteAndHasANewTimestamp) {
  const auto pair = *StagedPair::Make({"c1", "k1", "a1"});
  EXPECT_EQ(security::ReadText(pair->certificate_path()), "c1");
  EXPECT_EQ(security::ReadText(pair->key_path()), "k1");
  const auto date = [&] {
    struct stat status = {};
    EXPECT_EQ(stat(pair->key_path().c_str(), &status), 0);
    return status.st_mtime;
  };
  const time_t before = date();
  for (const char* const text : {"2", "3", "4"}) {
    ASSERT_TRUE(pair->Replace({text, text, text}).ok());
  }
  EXPECT_EQ(security::ReadText(pair->certificate_path()), "4");
  EXPECT_EQ(security::ReadText(pair->key_path()), "4");
  EXPECT_EQ(security::ReadText(pair->authorities_path()), "4");
  EXPECT_NE(date(), before);
}

TEST_F(StagedPairTest, FilesAreRemovedAtTheEnd) {
  StagedPair::Make({"c1", "k1", "a1"})->reset();
  EXPECT_EQ(Folders(), 0);
}

TEST_F(StagedPairTest, FilesOfAKilledProcessAreRemoved) {
  const auto lives = *StagedPair::Make({"c1", "k1", "a1"});
  HaveOneKilled();
  EXPECT_EQ(Folders(), 2);
  HaveOneKilled();
  EXPECT_EQ(Folders(), 2);  // the last one's alone
  const auto next = *StagedPair::Make({"c2", "k2", "a2"});
  EXPECT_EQ(Folders(), 2);
  EXPECT_EQ(security::ReadText(lives->key_path()), "k1");
  EXPECT_EQ(security::ReadText(next->key_path()), "k2");
}

// A symbolic link with the name of a staged folder is left alone.
TEST_F(StagedPairTest, ASymbolicLinkIsNotRemoved) {
  std::filesystem::create_directories(folder_ + "/elsewhere/of");
  std::filesystem::create_symlink(folder_ + "/elsewhere",
                                  folder_ + "/kamino-tls-abcdef");
  const auto pair = *StagedPair::Make({"c1", "k1", "a1"});
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/elsewhere/of"));
}

}  // namespace
}  // namespace kamino::rpc
