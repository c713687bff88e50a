// Messages without rings, assembled from pieces, and the bound on those that
// are incomplete.
#include "transport/verbs/message_assembler.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"

namespace kamino::transport {
namespace {

constexpr size_t kMaxMessage = 3 * kSendPayload;

SendHead First(size_t length) {
  return {SendKind::kFirst, {}, static_cast<uint32_t>(length), 0};
}
SendHead More() { return {SendKind::kMore, {}, 0, 0}; }

class FakeUser final : public SendUser {
 public:
  explicit FakeUser(UnfinishedMessages* all)
      : assembler(all, this, kMaxMessage) {}

  std::shared_ptr<void> Keep() override { return nullptr; }
  void OnReceived(absl::Span<const std::byte>) override {}
  void OnSent(uint64_t) override {}
  void OnPairFailed(const char*) override {}
  void OnBatchEnd() override {}
  void OnTooMuchUnfinished() override {
    dropped = true;
    assembler.Clear();
  }

  // A piece of `bytes` bytes.
  absl::Status Check(const SendHead& head, size_t bytes) const {
    return assembler.Check(head, Piece(bytes));
  }
  std::optional<std::string> Add(const SendHead& head, size_t bytes) {
    EXPECT_EQ(Check(head, bytes), absl::OkStatus());
    return assembler.Add(head, Piece(bytes));
  }

  MessageAssembler assembler;
  bool dropped = false;

 private:
  static absl::Span<const std::byte> Piece(size_t bytes) {
    static const std::string text(2 * kSendPayload, 'x');
    return {reinterpret_cast<const std::byte*>(text.data()), bytes};
  }
};

TEST(MessageAssemblerTest, TheLastPieceReturnsTheMessage) {
  UnfinishedMessages all(kMaxMessage);
  FakeUser user(&all);
  EXPECT_FALSE(user.Add(First(kSendPayload + 5), kSendPayload).has_value());
  EXPECT_EQ(user.assembler.bytes(), kSendPayload);
  EXPECT_EQ(user.Add(More(), 5), std::string(kSendPayload + 5, 'x'));
  EXPECT_EQ(user.assembler.bytes(), 0u);
}

TEST(MessageAssemblerTest, InvalidPiecesAreRefused) {
  UnfinishedMessages all(kMaxMessage);
  FakeUser user(&all);
  EXPECT_TRUE(absl::IsDataLoss(user.Check(More(), 5)));
  EXPECT_TRUE(absl::IsDataLoss(user.Check(First(10), 5)));
  EXPECT_TRUE(absl::IsDataLoss(user.Check(First(10), 11)));
  EXPECT_TRUE(
      absl::IsDataLoss(user.Check(First(kMaxMessage + 1), kSendPayload)));
  user.Add(First(kSendPayload + 5), kSendPayload);
  EXPECT_TRUE(absl::IsDataLoss(user.Check(First(5), 5)));
  EXPECT_TRUE(absl::IsDataLoss(user.Check(More(), 4)));
  EXPECT_EQ(user.Check(More(), 5), absl::OkStatus());
}

TEST(MessageAssemblerTest, TheOldestIncompleteMessageIsDropped) {
  UnfinishedMessages all(2 * kSendPayload);
  FakeUser old(&all);
  FakeUser young(&all);
  old.Add(First(kMaxMessage), kSendPayload);
  young.Add(First(kMaxMessage), kSendPayload);
  EXPECT_FALSE(old.dropped);
  young.Add(More(), kSendPayload);
  EXPECT_TRUE(old.dropped);
  EXPECT_FALSE(young.dropped);
  EXPECT_EQ(young.Add(More(), kSendPayload), std::string(kMaxMessage, 'x'));
}

TEST(MessageAssemblerTest, AMessageOverTheLimitIsDropped) {
  UnfinishedMessages all(kSendPayload);
  FakeUser user(&all);
  user.Add(First(kMaxMessage), kSendPayload);
  EXPECT_FALSE(user.Add(More(), kSendPayload).has_value());
  EXPECT_TRUE(user.dropped);
  EXPECT_EQ(user.assembler.bytes(), 0u);
}

}  // namespace
}  // namespace kamino::transport
