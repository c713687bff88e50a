#include "logs/log.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/reflection.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "glog/logging.h"
#include "gmock/gmock.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "grpc/support/log.h"
#include "gtest/gtest.h"
#include "logs/about_request.h"
#include "logs/last_words.h"
#include "rpc/grpc_log.h"

namespace kamino::logs {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::KilledBySignal;
using ::testing::Not;

void Set(const char* flag, const char* value) {
  std::string error;
  CHECK(absl::FindCommandLineFlag(flag)->ParseFrom(value, &error)) << error;
}

// The whole of a program that logs, and does that; 7 where it comes to an end.
void RunProgram(const char* format, const std::function<void()>& act,
                const char* level = "info") {
  Set("log_format", format);
  Set("log_level", level);
  StartLogging("program", {"program", "c", "n1"});
  act();
  Flush();
  _exit(7);
}

std::vector<std::string> LinesOf(const std::string& text) {
  return absl::StrSplit(text, '\n', absl::SkipEmpty());
}

MATCHER_P(LastLine, matcher, "") {
  const auto lines = LinesOf(arg);
  return !lines.empty() &&
         ExplainMatchResult(matcher, lines.back(), result_listener);
}

// Each line must also be an object with the expected message.
MATCHER_P(LastMessage, matcher, "") {
  std::string message;
  for (const std::string& line : LinesOf(arg)) {
    google::protobuf::Struct parsed;
    if (!google::protobuf::util::JsonStringToMessage(line, &parsed).ok()) {
      *result_listener << "no JSON: " << line;
      return false;
    }
    for (const char* field :
         {"time", "severity", "program", "cluster", "node", "message"}) {
      if (parsed.fields().count(field) == 1) continue;
      *result_listener << "no " << field << ": " << line;
      return false;
    }
    message = parsed.fields().at("message").string_value();
  }
  return ExplainMatchResult(matcher, message, result_listener);
}

class LogDeathTest : public ::testing::Test {
 protected:
  LogDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

void Log() {
  LOG(INFO) << "first\nsecond";
  LOG(WARNING) << "third";
  SayLast(google::GLOG_INFO, "over");
  LOG(ERROR) << "too late";
}

TEST_F(LogDeathTest, AnEventIsALine) {
  EXPECT_EXIT(RunProgram("text", Log), ::testing::ExitedWithCode(7),
              AllOf(ContainsRegex("^I[0-9]{8} .* log_test.cc:[0-9]+\\] "
                                  "first\\\\nsecond\nW"),
                    LastLine(HasSubstr("] over"))));
  EXPECT_EXIT(RunProgram("json", Log), ::testing::ExitedWithCode(7),
              AllOf(HasSubstr("\"severity\":\"WARNING\""),
                    HasSubstr("\"file\":\"log_test.cc:"), LastMessage("over")));
}

TEST_F(LogDeathTest, TheLastLineIsLoggedAtAnyLevel) {
  EXPECT_EXIT(RunProgram("text", Log, "error"), ::testing::ExitedWithCode(7),
              AllOf(Not(HasSubstr("third")), LastLine(HasSubstr("] over"))));
  EXPECT_EXIT(RunProgram(
                  "text", [] { VLOG(1) << "detail"; }, "debug"),
              ::testing::ExitedWithCode(7), HasSubstr("] detail"));
}

TEST_F(LogDeathTest, ARequestIsNamed) {
  const auto log = [] {
    AboutRequest about("5/7", "00-1-2-00");
    LOG(INFO) << "slow";
  };
  EXPECT_EXIT(RunProgram("text", log), ::testing::ExitedWithCode(7),
              HasSubstr("] slow [request 5/7] [traceparent 00-1-2-00]"));
  EXPECT_EXIT(RunProgram("json", log), ::testing::ExitedWithCode(7),
              HasSubstr("\"request\":\"5/7\",\"traceparent\":\"00-1-2-00\""));
}

TEST_F(LogDeathTest, ACheckThatFailsIsTheLastLine) {
  const auto fail = [] { CHECK_EQ(1, 2) << "they differ"; };
  EXPECT_EXIT(RunProgram("text", fail), KilledBySignal(SIGABRT),
              AllOf(HasSubstr("] stack: "),
                    LastLine(AllOf(HasSubstr("F"),
                                   HasSubstr("Check failed: 1 == 2 (1 vs. 2) "
                                             "they differ")))));
  EXPECT_EXIT(RunProgram("json", fail), KilledBySignal(SIGABRT),
              LastMessage(HasSubstr("Check failed: 1 == 2")));
}

TEST_F(LogDeathTest, AFaultReportsItsAddress) {
  const auto fail = [] {
    volatile int* volatile null = nullptr;
    null[8] = 1;
  };
  EXPECT_EXIT(RunProgram("text", fail), KilledBySignal(SIGSEGV),
              AllOf(HasSubstr("stack: "),
                    LastLine("ended by SIGSEGV at address 0x20")));
  EXPECT_EXIT(RunProgram("json", fail), KilledBySignal(SIGSEGV),
              LastMessage("ended by SIGSEGV at address 0x20"));
}

TEST_F(LogDeathTest, AnAbortIsReported) {
  EXPECT_EXIT(RunProgram("text", [] { abort(); }), KilledBySignal(SIGABRT),
              LastLine("ended by SIGABRT"));
  EXPECT_EXIT(RunProgram("text", [] { raise(SIGQUIT); }),
              KilledBySignal(SIGQUIT), LastLine("ended by SIGQUIT"));
}

void Fail() { throw std::runtime_error("of \"no\" use"); }

// Like an exception of a thread: noexcept keeps it from reaching gtest.
void Throw() noexcept { Fail(); }

TEST_F(LogDeathTest, AnUncaughtExceptionIsReported) {
  EXPECT_EXIT(RunProgram("text", Throw), KilledBySignal(SIGABRT),
              LastLine("ended by an uncaught exception: of \"no\" use"));
  EXPECT_EXIT(RunProgram("json", Throw), KilledBySignal(SIGABRT),
              LastMessage("ended by an uncaught exception: of \"no\" use"));
}

// A signal arrives while the process ends in order.
TEST_F(LogDeathTest, NoLineFollowsTheLastLine) {
  EXPECT_EXIT(RunProgram("text",
                         [] {
                           SayLast(google::GLOG_INFO, "over");
                           abort();
                         }),
              KilledBySignal(SIGABRT), LastLine(HasSubstr("] over")));
}

TEST_F(LogDeathTest, RecentLinesAreKept) {
  EXPECT_EXIT(
      RunProgram("text",
                 [] {
                   const std::string filler(2 * kRecentLineBytes, 'x');
                   for (int i = 0; i < 200; ++i)
                     LOG(INFO) << i << " " << filler;
                   size_t bytes = 0;
                   const auto lines = RecentLines();
                   for (const std::string& line : lines) bytes += line.size();
                   CHECK_GT(bytes, kRecentBytes - kRecentLineBytes);
                   CHECK_LE(bytes, kRecentBytes);
                   CHECK(std::any_of(
                       lines.begin(), lines.end(), [](const auto& line) {
                         return line.size() == kRecentLineBytes &&
                                absl::StrContains(line, "] 199 xxx");
                       }));
                   LOG(INFO) << "kept";
                   // A slow reader of stderr makes the log's thread add a
                   // notice of dropped lines.
                   bool kept = false;
                   for (const std::string& line : RecentLines()) {
                     kept |= absl::EndsWith(line, "] kept");
                   }
                   CHECK(kept);
                 }),
      ::testing::ExitedWithCode(7), "");
}

// Kinds of stderr, which is full, and whose reader stands still.
enum class Unread { kPipe, kPipeOfOthers, kSocket };

void MakeStderr(Unread kind) {
  int ends[2] = {};
  if (kind == Unread::kSocket) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) _exit(1);
  } else if (pipe(ends) != 0) {
    _exit(1);
  }
  if (dup2(ends[1], STDERR_FILENO) < 0) _exit(1);
}

void FillStderr() {
  fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK);
  while (write(STDERR_FILENO, ".", 1) == 1) {
  }
  fcntl(STDERR_FILENO, F_SETFL, 0);
}

// A process that waits for the reader of its stderr is ended by SIGALRM.
void RunUnread(Unread kind, const std::function<void()>& act) {
  MakeStderr(kind);
  alarm(30);
  rlimit files = {};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) _exit(1);
  // Logging cannot open the pipe once more.
  rlimit none = files;
  none.rlim_cur = 1;
  if (kind == Unread::kPipeOfOthers) setrlimit(RLIMIT_NOFILE, &none);
  RunProgram("text", [&] {
    setrlimit(RLIMIT_NOFILE, &files);
    FillStderr();
    // More than the queue takes.
    for (int i = 0; i < 200; ++i) LOG(INFO) << std::string(20'000, 'x');
    CHECK_GT(DroppedLines(), 0u);
    act();
  });
}

class UnreadDeathTest : public LogDeathTest,
                        public ::testing::WithParamInterface<Unread> {};
INSTANTIATE_TEST_SUITE_P(Kinds, UnreadDeathTest,
                         ::testing::Values(Unread::kPipe, Unread::kPipeOfOthers,
                                           Unread::kSocket));

TEST_P(UnreadDeathTest, AnEndingProcessDoesNotWaitForAStalledReader) {
  const auto run = [](const std::function<void()>& act) {
    RunUnread(GetParam(), act);
  };
  EXPECT_EXIT(run([] { CHECK_EQ(1, 2); }), KilledBySignal(SIGABRT), "");
  EXPECT_EXIT(run([] { raise(SIGSEGV); }), KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(run(Throw), KilledBySignal(SIGABRT), "");
  // As a program that SIGTERM ends does.
  EXPECT_EXIT(run([] {
                SayLast(google::GLOG_INFO, "over");
                exit(8);
              }),
              ::testing::ExitedWithCode(8), "");
  EXPECT_EXIT(run([] { WriteLastWords("over"); }), ::testing::ExitedWithCode(7),
              "");
  EXPECT_EXIT(run([] {
                // A line that must not be lost is reported as not written.
                CHECK(!WriteLine(google::GLOG_INFO, "kept").ok());
                exit(9);
              }),
              ::testing::ExitedWithCode(9), "");
}

TEST_F(LogDeathTest, AKeptLineIsWrittenAtAnyLevel) {
  const auto log = [] {
    CHECK(WriteLine(google::GLOG_INFO, "kept\nline").ok());
    CHECK(KeepLine(google::GLOG_INFO, "another").ok());
    CHECK(AwaitWritten().ok());
  };
  EXPECT_EXIT(RunProgram("text", log, "error"), ::testing::ExitedWithCode(7),
              ContainsRegex("^I[0-9]{8} .* log_test.cc:[0-9]+\\] "
                            "kept\\\\nline\nI.* another\n$"));
}

TEST_F(LogDeathTest, LinesOfLibrariesHaveTheSameFormat) {
  const auto log = [] {
    rpc::LogWhatLibrariesSay();
    gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);  // as grpc_init does
    gpr_log(GPR_ERROR, "no channel");
    google::protobuf::Value value;
    // Its string_value is not UTF-8.
    CHECK(!value.ParseFromString("\x1a\x01\xff"));
  };
  EXPECT_EXIT(RunProgram("text", log), ::testing::ExitedWithCode(7),
              ContainsRegex("^E[0-9]{8} .*\\] gRPC: no channel\n"
                            "E[0-9]{8} .*\\] protobuf: String field .*"
                            "invalid UTF-8.*\n$"));
}

TEST_F(LogDeathTest, APlainLastLineHasNoPrefix) {
  EXPECT_EXIT(RunProgram("text", [] { SayLastPlainly("program: so\nit is"); }),
              ::testing::ExitedWithCode(7), "^program: so\\\\nit is\n$");
}

TEST(LogFlagsTest, InvalidFlagsAreRefused) {
  absl::FlagSaver saver;
  EXPECT_TRUE(CheckLogFlags().ok());
  Set("log_format", "xml");
  EXPECT_THAT(std::string(CheckLogFlags().message()),
              HasSubstr("--log_format must be text or json, not \"xml\""));
  Set("log_format", "json");
  Set("log_level", "loud");
  EXPECT_THAT(std::string(CheckLogFlags().message()),
              HasSubstr("--log_level must be debug, info, warning or error"));
}

}  // namespace
}  // namespace kamino::logs
