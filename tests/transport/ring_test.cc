#include "transport/ring/ring.h"

#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace kamino::transport {
namespace {

constexpr size_t kCapacity = 256;
constexpr size_t kMaxMessage = 200;

absl::Span<const std::byte> Bytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::string Text(absl::Span<const std::byte> bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

class RingTest : public ::testing::Test {
 protected:
  absl::Span<std::byte> ring() { return absl::MakeSpan(bytes_); }

  bool Write(const std::string& first, const std::string& second = "") {
    auto position = writer_.Reserve(first.size() + second.size());
    if (!position.has_value()) return false;
    FillRecord(ring(), *position, Bytes(first), Bytes(second));
    return true;
  }

  // Publishes everything written, reads one message and acknowledges it.
  std::string Read() {
    EXPECT_TRUE(reader_.Advance(writer_.tail()).ok());
    auto message = reader_.Pop();
    EXPECT_TRUE(message.ok()) << message.status();
    if (!message.ok() || !message->has_value()) return "<nothing>";
    EXPECT_TRUE(writer_.Ack(reader_.head()).ok());
    return Text(**message);
  }

  std::vector<std::byte> bytes_ = std::vector<std::byte>(kCapacity);
  RingWriter writer_{kCapacity};
  RingReader reader_{absl::MakeConstSpan(bytes_), kMaxMessage};
};

TEST(RingFormatTest, RecordsAreAligned) {
  EXPECT_EQ(RecordBytes(0), 8u);
  EXPECT_EQ(RecordBytes(1), 16u);
  EXPECT_EQ(RecordBytes(8), 16u);
  EXPECT_EQ(RecordBytes(9), 24u);
}

// The bytes of the worked example in docs/formats/link.md.
TEST_F(RingTest, TheLayoutMatchesTheDocument) {
  ASSERT_TRUE(Write("abc"));
  ASSERT_TRUE(Write("hi"));
  const unsigned char expected[] = {
      0x03, 0, 0, 0, 0x6e, 0x69, 0x72, 0x6b, 'a', 'b', 'c', 0, 0, 0, 0, 0,
      0x02, 0, 0, 0, 0x7e, 0x69, 0x72, 0x6b, 'h', 'i', 0,   0, 0, 0, 0, 0};
  EXPECT_EQ(std::memcmp(bytes_.data(), expected, sizeof(expected)), 0);
  EXPECT_EQ(writer_.tail(), 32u);
}

TEST(LocateInRingTest, SplitsAtTheEndOfTheRing) {
  RingExtent at = LocateInRing(64, 8, 16);
  EXPECT_EQ(at.first_offset, 8u);
  EXPECT_EQ(at.first_length, 16u);
  EXPECT_EQ(at.second_length, 0u);
  at = LocateInRing(64, 64 * 3 + 56, 20);
  EXPECT_EQ(at.first_offset, 56u);
  EXPECT_EQ(at.first_length, 8u);
  EXPECT_EQ(at.second_length, 12u);
  at = LocateInRing(64, 48, 16);  // to the very end
  EXPECT_EQ(at.first_length, 16u);
  EXPECT_EQ(at.second_length, 0u);
}

TEST_F(RingTest, CarriesEmptyAndSplitMessages) {
  ASSERT_TRUE(Write(""));
  ASSERT_TRUE(Write("head", "er"));
  ASSERT_TRUE(Write("", "payload"));
  EXPECT_EQ(Read(), "");
  EXPECT_EQ(Read(), "header");
  EXPECT_EQ(Read(), "payload");
  EXPECT_EQ(Read(), "<nothing>");
}

TEST_F(RingTest, CreditsAreTheAcknowledgedSpace) {
  ASSERT_TRUE(Write(std::string(120, 'a')));  // 128 bytes
  ASSERT_TRUE(Write(std::string(112, 'b')));  // 120 bytes
  EXPECT_FALSE(Write("x"));                   // needs 16, 8 are left
  ASSERT_TRUE(Write(""));                     // exactly 8
  EXPECT_FALSE(Write(""));
  EXPECT_EQ(Read(), std::string(120, 'a'));
  ASSERT_TRUE(Write(std::string(120, 'c')));
  EXPECT_FALSE(Write(""));
  EXPECT_EQ(Read(), std::string(112, 'b'));
  EXPECT_EQ(Read(), "");
  EXPECT_EQ(Read(), std::string(120, 'c'));
  EXPECT_EQ(writer_.unacked(), 0u);
}

TEST_F(RingTest, AnyMixOfSizesArrivesInOrder) {
  std::mt19937 random(1);
  std::deque<std::string> sent;
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string first(random() % 60, static_cast<char>(i));
    const std::string second(random() % 60, static_cast<char>(i + 1));
    if (Write(first, second)) {
      sent.push_back(first + second);
    } else {
      ++refused;
      ASSERT_FALSE(sent.empty());
    }
    while (!sent.empty() && (sent.size() > 2 || random() % 2 == 0)) {
      ASSERT_EQ(Read(), sent.front()) << i;
      sent.pop_front();
    }
  }
  EXPECT_GT(refused, 0);
}

// Invariant 3, the reader's side.
TEST_F(RingTest, ReaderRefusesAnImpossibleTail) {
  ASSERT_TRUE(Write("abc"));
  EXPECT_EQ(Read(), "abc");  // head and tail are 16 now
  for (uint64_t tail : {uint64_t{8}, uint64_t{0}, uint64_t{17},
                        16 + kCapacity + 8, ~uint64_t{0} - 7}) {
    EXPECT_TRUE(absl::IsDataLoss(reader_.Advance(tail))) << tail;
  }
  EXPECT_TRUE(reader_.Advance(16 + kCapacity).ok());
  // It was published, but there is nothing of the kind in the ring.
  EXPECT_TRUE(absl::IsDataLoss(reader_.Pop().status()));
}

TEST_F(RingTest, ReaderRefusesAMalformedRecord) {
  ASSERT_TRUE(Write("abc"));
  ASSERT_TRUE(reader_.Advance(writer_.tail()).ok());
  // Lengths above the limit, and one within it that exceeds the published
  // bytes.
  for (uint32_t length : {uint32_t{kMaxMessage + 1}, ~uint32_t{0}, 9u}) {
    std::memcpy(bytes_.data(), &length, sizeof(length));
    EXPECT_TRUE(absl::IsDataLoss(reader_.Pop().status())) << length;
  }
}

// A record of an earlier round of the ring is not taken for one of this round.
TEST_F(RingTest, ReaderRefusesAnOldRecord) {
  ASSERT_TRUE(Write("abc"));
  const std::vector<std::byte> old = bytes_;
  EXPECT_EQ(Read(), "abc");
  while (writer_.tail() % kCapacity != 0) {
    ASSERT_TRUE(Write(""));
    EXPECT_EQ(Read(), "");
  }
  ASSERT_TRUE(Write("def"));
  bytes_ = old;
  ASSERT_TRUE(reader_.Advance(writer_.tail()).ok());
  EXPECT_TRUE(absl::IsDataLoss(reader_.Pop().status()));
}

// Invariant 3, the writer's side.
TEST_F(RingTest, WriterRefusesAnImpossibleAcknowledgement) {
  ASSERT_TRUE(Write("abc"));
  ASSERT_TRUE(Write("def"));
  EXPECT_TRUE(writer_.Ack(16).ok());
  for (uint64_t head : {uint64_t{0}, uint64_t{8}, uint64_t{20}, uint64_t{40},
                        ~uint64_t{0} - 7}) {
    EXPECT_TRUE(absl::IsDataLoss(writer_.Ack(head))) << head;
  }
  EXPECT_TRUE(writer_.Ack(32).ok());
  EXPECT_EQ(writer_.unacked(), 0u);
}

}  // namespace
}  // namespace kamino::transport
