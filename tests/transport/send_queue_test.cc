#include "transport/tcp/send_queue.h"

#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/types/span.h"
#include "gtest/gtest.h"

namespace kamino::transport {
namespace {

size_t Allocated() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

// For a peer that takes a large message a little at a time, the queue holds
// only the rest of the message.
TEST(SendQueueTest, MemoryOfSentBytesIsFreed) {
  constexpr size_t kMuch = size_t{8} << 20;
  constexpr size_t kLittle = size_t{256} << 10;
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  const std::string message(kMuch, 'x');
  std::string taken(kLittle, '\0');
  const size_t before = Allocated();
  SocketSink sink(ends[0]);
  SendQueue queue;
  ASSERT_TRUE(
      queue
          .Write(&sink, {absl::Span<const std::byte>(),
                         absl::MakeConstSpan(
                             reinterpret_cast<const std::byte*>(message.data()),
                             message.size()),
                         absl::Span<const std::byte>()})
          .ok());
  while (queue.bytes() > 0) {
    EXPECT_LT(Allocated(), before + queue.bytes() + kLittle);
    ASSERT_GT(read(ends[1], taken.data(), taken.size()), 0);
    ASSERT_TRUE(queue.Flush(&sink).ok());
  }
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace kamino::transport
