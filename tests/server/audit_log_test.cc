#include "server/audit_log.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/flags/reflection.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "logs/log.h"
#include "tests/faults/fault.h"

namespace kamino::server {
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

TEST_F(AuditLogTest, EachRecordIsALine) {
  const auto log = Open();
  EXPECT_TRUE(log->Add(Removal()).ok());
  AuditRecord refused = Removal();
  refused.outcome = absl::PermissionDeniedError("a \"reader\"\nis\xff");
  EXPECT_TRUE(log->Add(refused).ok());
  const std::string text = Contents(path_);
  EXPECT_EQ(text.substr(0, text.find('\n')), kFirst);
  EXPECT_THAT(text, HasSubstr(R"("outcome":"PERMISSION_DENIED","message":)"
                              R"("a \"reader\"\u000ais\u00ff"})"));
  EXPECT_EQ(log->records(), 2u);
  EXPECT_EQ(log->unwritten(), 0u);
}

TEST_F(AuditLogTest, ExistingLinesStay) {
  EXPECT_TRUE(Open()->Add(Removal()).ok());
  EXPECT_TRUE(Open()->Add(Removal()).ok());
  EXPECT_EQ(Contents(path_), std::string(kFirst) + "\n" + kFirst + "\n");
}

// logrotate renames it so.
TEST_F(AuditLogTest, ARenamedFileIsReopened) {
  const auto log = Open();
  EXPECT_TRUE(log->Add(Removal()).ok());
  ASSERT_EQ(std::rename(path_.c_str(), (path_ + ".1").c_str()), 0);
  EXPECT_TRUE(log->Add(Removal()).ok());
  EXPECT_EQ(Contents(path_), std::string(kFirst) + "\n");
  EXPECT_EQ(Contents(path_ + ".1"), std::string(kFirst) + "\n");
}

TEST_F(AuditLogTest, LongFieldsAreCut) {
  AuditRecord record = Removal();
  record.arguments = std::string(1 << 20, 'x');
  EXPECT_LT(AuditLine(record, absl::UnixEpoch()).size(), 2048u);
}

TEST_F(AuditLogTest, AFileThatCannotBeOpenedIsAnError) {
  const auto log = AuditLog::Open("/proc/none/audit");
  EXPECT_TRUE(absl::IsInvalidArgument(log.status()));
  EXPECT_THAT(std::string(log.status().message()),
              HasSubstr("the audit log /proc/none/audit cannot be opened: No "
                        "such file"));
}

// A disk that is full for a while writes half a line.
TEST_F(AuditLogTest, APartialLineCorruptsNoOther) {
  const auto log = Open();
  EXPECT_TRUE(log->Add(Removal()).ok());
  ASSERT_NE(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit full = before;
  full.rlim_cur = std::string(kFirst).size() + 10;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  EXPECT_TRUE(log->Add(Removal()).ok());
  EXPECT_TRUE(log->Add(Removal()).ok());
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(log->unwritten(), 2u);
  EXPECT_TRUE(log->Add(Removal()).ok());
  EXPECT_TRUE(log->Add(Removal()).ok());
  const std::string first(kFirst);
  EXPECT_EQ(Contents(path_), absl::StrCat(first, "\n", first.substr(0, 9), "\n",
                                          first, "\n", first, "\n"));
}

TEST_F(AuditLogTest, DoesNotWaitForTheReaderOfAPipe) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(std::string(AuditLog::Open(path_).status().message()),
              HasSubstr("cannot be opened: No such device or address"));
}

TEST_F(AuditLogTest, UnwrittenRecordsAreCounted) {
  const auto log = AuditLog::Open("/dev/full");
  ASSERT_TRUE(log.ok()) << log.status();
  // The program's log has it.
  EXPECT_TRUE((*log)->Add(Removal()).ok());
  EXPECT_EQ((*log)->unwritten(), 1u);
}

// stderr of the process: a pipe with room, a full pipe without a reader, or a
// file on a full disk.
enum class Stderr { kHasRoom, kIsFull, kFails };

void BeginToLog(Stderr kind) {
  int ends[2] = {};
  if (pipe(ends) != 0) _exit(1);
  if (kind == Stderr::kFails) ends[1] = open("/dev/full", O_WRONLY);
  if (dup2(ends[1], STDERR_FILENO) < 0) _exit(1);
  fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK);
  while (kind == Stderr::kIsFull && write(STDERR_FILENO, ".", 1) == 1) {
  }
  fcntl(STDERR_FILENO, F_SETFL, 0);
  logs::StartLogging("program", {"program", "c", ""});
}

// A process whose calls are audited; its exit code tells the results.
constexpr int kAdmitted = 1;
constexpr int kAdded = 2;
constexpr int kUnwritten = 4;
constexpr int kAdmittedAgain = 8;

void Audit(const std::string& path, Stderr kind, absl::string_view fault = "") {
  faults::PlantFault(fault);
  std::string error;
  // Suppresses LOG(INFO).
  CHECK(absl::FindCommandLineFlag("log_level")->ParseFrom("error", &error));
  BeginToLog(kind);
  const auto log = AuditLog::Open(path);
  CHECK(log.ok());
  int came_to = 0;
  if ((*log)->Admit().ok()) came_to |= kAdmitted;
  const absl::Status added = (*log)->Add(Removal());
  if (added.ok()) came_to |= kAdded;
  CHECK(added.ok() || absl::StrContains(added.message(), "--audit_log"));
  if ((*log)->unwritten() > 0) came_to |= kUnwritten;
  if ((*log)->Admit().ok()) came_to |= kAdmittedAgain;
  const std::vector<std::string> recent = logs::RecentLines();
  CHECK(std::any_of(recent.begin(), recent.end(), [](const std::string& line) {
    return absl::StrContains(line, "audit: {\"time\":");
  }));
  _exit(came_to);
}

class AuditDeathTest : public ::testing::Test {
 protected:
  AuditDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(AuditDeathTest, ACallFailsIfItsLineCannotBeWritten) {
  using ::testing::ExitedWithCode;
  EXPECT_EXIT(Audit("", Stderr::kHasRoom),
              ExitedWithCode(kAdmitted | kAdded | kAdmittedAgain), "");
  EXPECT_EXIT(Audit("", Stderr::kIsFull), ExitedWithCode(kUnwritten), "");
  // From the second call on the process knows that stderr takes nothing.
  EXPECT_EXIT(Audit("", Stderr::kFails), ExitedWithCode(kAdmitted | kUnwritten),
              "");
  // The log has the lines that the file does not take.
  EXPECT_EXIT(Audit("/dev/full", Stderr::kHasRoom),
              ExitedWithCode(kAdmitted | kAdded | kUnwritten | kAdmittedAgain),
              "");
  // From the second call on the process knows that the file takes nothing.
  EXPECT_EXIT(Audit("/dev/full", Stderr::kIsFull),
              ExitedWithCode(kAdmitted | kUnwritten), "");
}

// Audits to a full pipe, whose reader does not read.
void AuditToPipe(const std::string& path, Stderr kind,
                 absl::string_view fault = "") {
  unlink(path.c_str());
  CHECK_EQ(mkfifo(path.c_str(), 0600), 0);
  const int reader = open(path.c_str(), O_RDWR | O_NONBLOCK);
  while (write(reader, ".", 1) == 1) {
  }
  Audit(path, kind, fault);
}

TEST_F(AuditDeathTest, ACallIsRefusedIfThePipeAndTheLogAreBlocked) {
  using ::testing::ExitedWithCode;
  const std::string path = ::testing::TempDir() + "/audit_pipe";
  EXPECT_EXIT(AuditToPipe(path, Stderr::kIsFull), ExitedWithCode(kUnwritten),
              "");
  // The log has the lines.
  EXPECT_EXIT(AuditToPipe(path, Stderr::kHasRoom),
              ExitedWithCode(kAdmitted | kAdded | kUnwritten | kAdmittedAgain),
              "");
}

TEST_F(AuditDeathTest, ActingWithoutAnAuditLineIsDetected) {
  EXPECT_EXIT(AuditToPipe(::testing::TempDir() + "/admitted_pipe",
                          Stderr::kIsFull, "audit-admits-what-no-output-takes"),
              ::testing::ExitedWithCode(kAdmitted | kUnwritten), "");
}

TEST_F(AuditDeathTest, AnsweringWithoutAnAuditLineIsDetected) {
  EXPECT_EXIT(Audit("", Stderr::kIsFull, "audit-lines-may-be-lost"),
              ::testing::ExitedWithCode(kAdded), "");
}

}  // namespace
}  // namespace kamino::server
