#include "lab/controller/trace_file.h"

#include <cstdio>
#include <random>
#include <string>

#include "gtest/gtest.h"

namespace kamino::bench::controller {
namespace {

const char kExample[] =
    "kamino-memory-trace 1\n"
    "# two threads\n"
    "thread\n"
    "begin\n"
    "compute 250\n"
    "open\n"
    "load 1f40 8\n"
    "store 1f48 16\n"
    "close\n"
    "thread\n"
    "store 40 8\n"
    "flush 40 8\n"
    "drain\n";

TEST(TraceFileTest, EveryEventIsParsed) {
  const auto trace = ParseTrace(kExample);
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->threads.size(), 2u);
  const std::vector<Event> first = {{EventKind::kBegin},
                                    {EventKind::kCompute, 250},
                                    {EventKind::kOpen},
                                    {EventKind::kLoad, 8, 0x1f40},
                                    {EventKind::kStore, 16, 0x1f48},
                                    {EventKind::kClose}};
  const std::vector<Event> second = {{EventKind::kStore, 8, 0x40},
                                     {EventKind::kFlush, 8, 0x40},
                                     {EventKind::kDrain}};
  EXPECT_EQ(trace->threads[0], first);
  EXPECT_EQ(trace->threads[1], second);
}

TEST(TraceFileTest, AWrittenTraceReadsBackEqual) {
  const Trace trace = *ParseTrace(kExample);
  const std::string text = WriteTrace(trace);
  EXPECT_EQ(text.find('#'), std::string::npos);
  EXPECT_EQ(ParseTrace(text)->threads, trace.threads);
  const std::string path = ::testing::TempDir() + "/trace";
  ASSERT_TRUE(SaveTrace(trace, path).ok());
  EXPECT_EQ(LoadTrace(path)->threads, trace.threads);
  std::remove(path.c_str());
}

TEST(TraceFileTest, ErrorsNameTheProblemAndItsLine) {
  const std::string head = "kamino-memory-trace 1\n";
  const std::pair<std::string, std::string> cases[] = {
      {"", "line 1"},
      {"kamino-memory-trace 2\nthread\n", "line 1"},
      {head, "0 threads"},
      {head + "begin\n", "line 2: before the first thread"},
      {head + "thread\nbegin now\n", "line 3: no event"},
      {head + "thread\nstore 40\n", "line 3: no event"},
      {head + "thread\nstore 40 -8\n", "line 3: no event"},
      {head + "thread\nstore 4g 8\n", "line 3: no event"},
      {head + "thread\nstore 40 8 8\n", "line 3: no event"},
      {head + "thread\nfetch 40 8\n", "line 3: no event"},
      {head + "thread\ncompute\n", "line 3: no event"},
      {head + "thread\nstore 40 0\n", "event 0: accesses 0 bytes"},
      {head + "thread\nstore 40 4194305\n", "event 0: accesses 4194305"},
      {head + "thread\nload 400000000000 8\n", "event 0: an address over"},
      {head + "thread\nopen\nopen\n", "event 1: opens a wrap within"},
      {head + "thread\nclose\n", "event 0: closes a wrap"},
      {head + "thread\nopen\nbegin\n", "event 1: begins other work"},
      {head + "thread\nthread\nopen\n", "thread 1 leaves a wrap open"},
  };
  for (const auto& [text, word] : cases) {
    const auto trace = ParseTrace(text);
    ASSERT_FALSE(trace.ok()) << text;
    EXPECT_EQ(trace.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(trace.status().message().find(word), std::string::npos)
        << text << trace.status();
  }
  EXPECT_EQ(LoadTrace("/nowhere/at/all").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_FALSE(SaveTrace(Trace(), "/nowhere/at/all").ok());
}

// Whatever a byte is replaced by: an error, or another trace that can be
// written and read.
TEST(TraceFileTest, AnyBytesAreReadOrRejected) {
  std::mt19937_64 random(1);
  int read = 0, rejected = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = kExample;
    for (uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      text[random() % text.size()] = static_cast<char>(random() % 128);
    }
    const auto trace = ParseTrace(text);
    trace.ok() ? ++read : ++rejected;
    if (trace.ok()) {
      EXPECT_EQ(ParseTrace(WriteTrace(*trace))->threads, trace->threads);
    }
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(rejected, 100);
}

}  // namespace
}  // namespace kamino::bench::controller
