#include "membership/audit_log.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::membership {
namespace {

using ::testing::HasSubstr;

constexpr char kFirst[] =
    R"({"time":"1970-01-01T00:00:00.000000Z",)"
    R"("who":"kamino://c/operator/alice",)"
    R"("from":"ipv4:10.0.0.1:5","call":"RemoveNode","arguments":"node_id: )"
    R"(\"n1\"","outcome":"OK","message":""})";

AuditRecord Removal() {
  AuditRecord record;
  record.who = "kamino://c/operator/alice";
  record.from = "ipv4:10.0.0.1:5";
  record.call = "RemoveNode";
  record.arguments = "node_id: \"n1\"";
  record.changes = true;
  return record;
}

std::string Contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class AuditLogTest : public ::testing::Test {
 protected:
  std::unique_ptr<AuditLog> Open() {
    auto log = AuditLog::Open(path_, [] { return absl::UnixEpoch(); });
    EXPECT_TRUE(log.ok()) << log.status();
    return log.ok() ? std::move(*log) : nullptr;
  }

  const std::string path_ =
      ::testing::TempDir() + "/audit" +
      ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(AuditLogTest, ALineForEach) {
  const auto log = Open();
  log->Add(Removal());
  AuditRecord refused = Removal();
  refused.outcome = absl::PermissionDeniedError("a \"reader\"\nis\xff");
  log->Add(refused);
  const std::string text = Contents(path_);
  EXPECT_EQ(text.substr(0, text.find('\n')), kFirst);
  EXPECT_THAT(text, HasSubstr(R"("outcome":"PERMISSION_DENIED","message":)"
                              R"("a \"reader\"\u000ais\u00ff"})"));
  EXPECT_EQ(log->records(), 2u);
  EXPECT_EQ(log->unwritten(), 0u);
}

TEST_F(AuditLogTest, WhatIsThereStays) {
  Open()->Add(Removal());
  Open()->Add(Removal());
  EXPECT_EQ(Contents(path_), std::string(kFirst) + "\n" + kFirst + "\n");
}

// As logrotate does.
TEST_F(AuditLogTest, ARenamedFileIsBegunAnew) {
  const auto log = Open();
  log->Add(Removal());
  ASSERT_EQ(std::rename(path_.c_str(), (path_ + ".1").c_str()), 0);
  log->Add(Removal());
  EXPECT_EQ(Contents(path_), std::string(kFirst) + "\n");
  EXPECT_EQ(Contents(path_ + ".1"), std::string(kFirst) + "\n");
}

TEST_F(AuditLogTest, FieldsAreCut) {
  AuditRecord record = Removal();
  record.arguments = std::string(1 << 20, 'x');
  EXPECT_LT(AuditLine(record, absl::UnixEpoch()).size(), 2048u);
}

TEST_F(AuditLogTest, OneThatCannotBeWrittenIsAnError) {
  const auto log = AuditLog::Open("/proc/none/audit");
  EXPECT_TRUE(absl::IsInvalidArgument(log.status()));
  EXPECT_THAT(std::string(log.status().message()),
              HasSubstr("the audit log /proc/none/audit cannot be opened: No "
                        "such file"));
}

// As when a disk is full for a while.
TEST_F(AuditLogTest, HalfALineTakesNoOtherWithIt) {
  const auto log = Open();
  log->Add(Removal());
  ASSERT_NE(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit full = before;
  full.rlim_cur = std::string(kFirst).size() + 10;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  log->Add(Removal());
  log->Add(Removal());
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(log->unwritten(), 2u);
  log->Add(Removal());
  log->Add(Removal());
  const std::string first(kFirst);
  EXPECT_EQ(Contents(path_), absl::StrCat(first, "\n", first.substr(0, 9), "\n",
                                          first, "\n", first, "\n"));
}

TEST_F(AuditLogTest, WaitsForNoPipesReader) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(std::string(AuditLog::Open(path_).status().message()),
              HasSubstr("cannot be opened: No such device or address"));
}

TEST_F(AuditLogTest, WhatCannotBeWrittenIsCounted) {
  const auto log = AuditLog::Open("/dev/full");
  ASSERT_TRUE(log.ok()) << log.status();
  (*log)->Add(Removal());
  EXPECT_EQ((*log)->unwritten(), 1u);
}

}  // namespace
}  // namespace kamino::membership
