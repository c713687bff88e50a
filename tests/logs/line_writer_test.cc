#include "logs/line_writer.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/planted.h"
#include "tests/patience.h"

namespace kamino::logs {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Far more than anything here takes that does not hang.
const absl::Duration kHangs = Patience(absl::Seconds(10));
constexpr size_t kMostBytes = 4000;

// Two ends of a pipe, or of another stream, of which the first is read.
class Stream {
 public:
  enum class Kind { kPipe, kSocket, kFifo };
  explicit Stream(Kind kind = Kind::kPipe) {
    signal(SIGPIPE, SIG_IGN);
    if (kind == Kind::kFifo) {
      path_ = ::testing::TempDir() + "/fifo";
      unlink(path_.c_str());
      EXPECT_EQ(mkfifo(path_.c_str(), 0600), 0);
      OpenReader();
      written_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
      EXPECT_GE(written_, 0);
      return;
    }
    int ends[2] = {};
    EXPECT_EQ(kind == Kind::kPipe ? pipe2(ends, O_CLOEXEC)
                                  : socketpair(AF_UNIX, SOCK_STREAM, 0, ends),
              0);
    read_ = ends[0];
    written_ = ends[1];
  }
  ~Stream() {
    CloseReader();
    close(written_);
  }

  int written() const { return written_; }
  void CloseReader() {
    if (read_ >= 0) close(read_);
    read_ = -1;
  }
  // For a FIFO.
  void OpenReader() {
    // Without O_NONBLOCK this would wait for a writer.
    read_ = open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    EXPECT_GE(read_, 0);
    fcntl(read_, F_SETFL, fcntl(read_, F_GETFL) & ~O_NONBLOCK);
  }
  // Until it takes not a byte more.
  void Fill() {
    const int flags = fcntl(written_, F_GETFL);
    fcntl(written_, F_SETFL, flags | O_NONBLOCK);
    const std::string bytes(512, '.');
    while (write(written_, bytes.data(), bytes.size()) > 0) {
    }
    EXPECT_EQ(errno, EAGAIN);
    while (write(written_, bytes.data(), 1) > 0) {
    }
    fcntl(written_, F_SETFL, flags);
  }
  // Reads until there is a line that begins so; without the filler.
  std::vector<std::string> ReadUntil(const std::string& begin) {
    std::vector<std::string> lines(1);
    char c = 0;
    while (read(read_, &c, 1) == 1) {
      if (c == '\n') {
        if (lines.back().find(begin) == 0) return lines;
        lines.emplace_back();
      } else if (c != '.') {
        lines.back().push_back(c);
      }
    }
    ADD_FAILURE() << "ended after: " << lines.back();
    return lines;
  }

 private:
  std::string path_;
  int read_ = -1;
  int written_ = -1;
};

class LineWriterTest : public ::testing::Test {
 protected:
  std::unique_ptr<LineWriter> WriterTo(int file,
                                       absl::Duration patience = kHangs) {
    LineWriter::Options options;
    options.file = file;
    options.most_bytes = kMostBytes;
    options.most_bytes_with_kept = 2 * kMostBytes;
    options.patience = patience;
    options.longest_wait = kHangs;
    options.notice = [](uint64_t dropped) {
      return absl::StrCat("dropped ", dropped);
    };
    return std::make_unique<LineWriter>(std::move(options));
  }
};

TEST_F(LineWriterTest, LinesAreWrittenInOrder) {
  for (const auto kind : {Stream::Kind::kPipe, Stream::Kind::kSocket}) {
    Stream stream(kind);
    const auto writer = WriterTo(stream.written());
    // Longer than what a pipe takes at once.
    const std::string longest(3 * PIPE_BUF, 'x');
    for (int i = 0; i < 3; ++i) {
      writer->Add(absl::StrCat(i, longest));
      ASSERT_TRUE(writer->Drain(kHangs));
    }
    EXPECT_TRUE(writer->AddLast("over"));
    writer->Add("too late");
    EXPECT_FALSE(writer->AddLast("too late"));
    EXPECT_FALSE(writer->Keep("too late").ok());
    ASSERT_TRUE(writer->Drain(kHangs));
    EXPECT_FALSE(writer->IsWriting());
    EXPECT_THAT(
        stream.ReadUntil("over"),
        testing::ElementsAre(absl::StrCat(0, longest), absl::StrCat(1, longest),
                             absl::StrCat(2, longest), "over"));
    EXPECT_EQ(writer->dropped(), 0u);
  }
}

// Adds more lines than there is room for while the reader is stalled. The
// writer counts them, and writes a line with the count.
bool AddsWithoutWaiting(LineWriter* writer, const std::function<void()>& free) {
  absl::Notification over;
  std::thread thread([&] {
    for (int i = 0; i < 100; ++i) {
      writer->Add(absl::StrCat(1000 + i, std::string(96, 'x')));
    }
    over.Notify();
  });
  const bool returned = over.WaitForNotificationWithTimeout(kHangs);
  if (!returned) free();
  thread.join();
  return returned;
}

TEST_F(LineWriterTest, AWriterDoesNotWaitForAStalledReader) {
  for (const auto kind : {Stream::Kind::kPipe, Stream::Kind::kSocket}) {
    Stream stream(kind);
    stream.Fill();
    const int flags = fcntl(stream.written(), F_GETFL);
    const auto writer = WriterTo(stream.written());
    ASSERT_TRUE(AddsWithoutWaiting(writer.get(), [] {}));
    // The lines have 100 bytes each; one may be on its way.
    EXPECT_EQ(writer->dropped(), 100 - (kMostBytes - 1) / 101);
    EXPECT_TRUE(writer->IsWriting());
    EXPECT_FALSE(writer->Drain(absl::ZeroDuration()));
    // Other processes share it.
    EXPECT_EQ(fcntl(stream.written(), F_GETFL), flags);

    const auto lines = stream.ReadUntil("dropped");
    EXPECT_THAT(lines.front(), StartsWith("1000x"));
    EXPECT_EQ(lines.back(), absl::StrCat("dropped ", writer->dropped()));
    EXPECT_EQ(lines.size() - 1 + writer->dropped(), 100u);
    writer->Add("behind");
    stream.ReadUntil("behind");
    EXPECT_EQ(writer->dropped(), 100u - (lines.size() - 1));
  }
}

TEST_F(LineWriterTest, AWriterThatWaitsIsDetected) {
  const faults::Planted planted("logs-wait-for-their-reader");
  Stream stream;
  stream.Fill();
  const auto writer = WriterTo(stream.written());
  EXPECT_FALSE(AddsWithoutWaiting(writer.get(), [&] { stream.CloseReader(); }));
}

TEST_F(LineWriterTest, TheLastLineFollowsANoticeOfDroppedLines) {
  Stream stream;
  stream.Fill();
  const auto writer = WriterTo(stream.written());
  ASSERT_TRUE(AddsWithoutWaiting(writer.get(), [] {}));
  EXPECT_TRUE(writer->AddLast("over"));
  const auto lines = stream.ReadUntil("over");
  EXPECT_THAT(lines[lines.size() - 2], StartsWith("dropped "));
}

// Keeps as many lines as are taken; whether each is there in the end.
bool EachKeptLineIsWritten(LineWriter* writer, Stream* stream) {
  std::vector<std::string> kept;
  bool refused = false;
  for (int i = 0; i < 100; ++i) {
    std::string line = absl::StrCat("kept ", i, " ", std::string(90, 'x'));
    const auto receipt = writer->Keep(line);
    if (receipt.ok()) kept.push_back(std::move(line));
    refused = refused || !receipt.ok();
  }
  EXPECT_TRUE(writer->AddLast("over"));
  const auto lines = stream->ReadUntil("over");
  for (const std::string& line : kept) {
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) {
      return false;
    }
  }
  return refused;
}

TEST_F(LineWriterTest, KeptLinesAreWrittenOrRefused) {
  Stream stream;
  stream.Fill();
  const auto writer = WriterTo(stream.written());
  ASSERT_TRUE(AddsWithoutWaiting(writer.get(), [] {}));
  EXPECT_TRUE(EachKeptLineIsWritten(writer.get(), &stream));
}

TEST_F(LineWriterTest, DroppedKeptLinesAreDetected) {
  const faults::Planted planted("logs-drop-kept-lines");
  Stream stream;
  stream.Fill();
  const auto writer = WriterTo(stream.written());
  ASSERT_TRUE(AddsWithoutWaiting(writer.get(), [] {}));
  EXPECT_FALSE(EachKeptLineIsWritten(writer.get(), &stream));
}

TEST_F(LineWriterTest, AReceiptReportsWhetherItsLineIsWritten) {
  Stream stream;
  auto writer = WriterTo(stream.written());
  auto receipt = writer->Keep("first");
  ASSERT_TRUE(receipt.ok());
  EXPECT_TRUE(writer->AwaitWritten(**receipt).ok());
  EXPECT_TRUE(writer->AwaitWritten().ok());

  writer = WriterTo(stream.written(), absl::Milliseconds(20));
  stream.Fill();
  receipt = writer->Keep("second");
  ASSERT_TRUE(receipt.ok());
  const absl::Status unread = writer->AwaitWritten(**receipt);
  EXPECT_TRUE(absl::IsFailedPrecondition(unread));
  EXPECT_THAT(std::string(unread.message()),
              HasSubstr("the reader of stderr takes no lines of the log (1 "));
  EXPECT_FALSE(writer->AwaitWritten().ok());

  stream.ReadUntil("second");
  ASSERT_TRUE(writer->Drain(kHangs));
  EXPECT_TRUE(writer->AwaitWritten(**receipt).ok());
  stream.CloseReader();
  receipt = writer->Keep("third");
  ASSERT_TRUE(receipt.ok());
  ASSERT_TRUE(writer->Drain(kHangs));
  EXPECT_THAT(std::string(writer->AwaitWritten(**receipt).message()),
              HasSubstr("stderr cannot be written to: Broken pipe"));
}

// All lines that wait fail with the reader that has gone. The next reader gets
// the number of those that were lost, and the lines after them.
TEST_F(LineWriterTest, ANewReaderGetsLinesAgain) {
  Stream stream(Stream::Kind::kFifo);
  const auto writer = WriterTo(stream.written());
  stream.Fill();
  for (int i = 0; i < 100; ++i) writer->Add(std::string(96, 'x'));
  EXPECT_GT(writer->dropped(), 0u);
  stream.CloseReader();
  ASSERT_TRUE(writer->Drain(kHangs));
  ASSERT_EQ(writer->dropped(), 100u);
  stream.OpenReader();
  writer->Add("again");
  ASSERT_EQ(writer->dropped(), 100u);
  EXPECT_THAT(stream.ReadUntil("again"), testing::Contains("dropped 100"));
}

// A caller that must know in advance learns it by the notice of what was lost.
TEST_F(LineWriterTest, AFailedWriteIsReportedUntilAWriteSucceeds) {
  Stream stream(Stream::Kind::kFifo);
  const auto writer = WriterTo(stream.written());
  EXPECT_TRUE(writer->AwaitWritten().ok());
  stream.CloseReader();
  writer->Add("lost");
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(std::string(writer->AwaitWritten().message()),
                HasSubstr("stderr cannot be written to: Broken pipe"));
  }
  stream.OpenReader();
  EXPECT_TRUE(writer->AwaitWritten().ok());
  EXPECT_THAT(stream.ReadUntil("dropped"), testing::ElementsAre("dropped 1"));
}

TEST_F(LineWriterTest, AForgottenFailedWriteIsDetected) {
  const faults::Planted planted("logs-forget-failed-writes");
  Stream stream(Stream::Kind::kFifo);
  const auto writer = WriterTo(stream.written());
  stream.CloseReader();
  writer->Add("lost");
  EXPECT_TRUE(writer->AwaitWritten().ok());
}

// The notice fails as well: its number is not lost.
TEST_F(LineWriterTest, AFailedNoticeIsRepeated) {
  Stream stream(Stream::Kind::kFifo);
  const auto writer = WriterTo(stream.written());
  stream.Fill();
  for (int i = 0; i < 100; ++i) writer->Add(std::string(96, 'x'));
  stream.CloseReader();
  ASSERT_TRUE(writer->Drain(kHangs));
  ASSERT_EQ(writer->dropped(), 100u);
  writer->Add("lost with the notice");
  ASSERT_TRUE(writer->Drain(kHangs));
  EXPECT_EQ(writer->dropped(), 101u);
  stream.OpenReader();
  writer->Add("again");
  EXPECT_THAT(stream.ReadUntil("dropped 101"), testing::Contains("again"));
}

TEST_F(LineWriterTest, LinesThatDoNotFitOnADiskAreCounted) {
  const std::string path = ::testing::TempDir() + "/full";
  const int file =
      open(path.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_APPEND, 0600);
  ASSERT_GE(file, 0);
  ASSERT_NE(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
  const auto writer = WriterTo(file);
  writer->Add("first");
  ASSERT_TRUE(writer->Drain(kHangs));
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit full = before;
  full.rlim_cur = 10;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  writer->Add("second");
  writer->Add("third");
  ASSERT_TRUE(writer->Drain(kHangs));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(writer->dropped(), 2u);
  writer->Add("fourth");
  ASSERT_TRUE(writer->Drain(kHangs));
  ASSERT_TRUE(writer->Drain(kHangs));
  std::string text(100, '\0');
  text.resize(static_cast<size_t>(pread(file, text.data(), text.size(), 0)));
  EXPECT_EQ(text, "first\nseco\nfourth\ndropped 2\n");
  close(file);
}

}  // namespace
}  // namespace kamino::logs
