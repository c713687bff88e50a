// One end of a verbs link without rings that keeps to no rule but its test's.
#ifndef KAMINO_TESTS_TRANSPORT_RAW_SENDER_H_
#define KAMINO_TESTS_TRANSPORT_RAW_SENDER_H_

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "tests/patience.h"
#include "transport/verbs/choose_port.h"
#include "transport/verbs/pinned_memory.h"
#include "transport/verbs/rendezvous.h"
#include "transport/verbs/send_format.h"
#include "transport/verbs/verbs_group.h"

namespace kamino::transport {

// Not thread-safe.
class RawSender {
 public:
  static constexpr int kReceives = 64;
  static constexpr int kSends = 256;
  static constexpr size_t kStride = 2 * kSendBuffer;  // more than allowed

  // `receives`: how many it posts, at once and never again.
  explicit RawSender(const OpenedPort& port, int receives = kReceives)
      : port_(port) {
    GroupSize size;
    size.max_pairs = 1;
    size.receives = kReceives;
    size.sends = kSends;
    group_ = *port_.device->CreateGroup(port_.choice.port.number, size);
    memory_ = *PinnedMemory::Allocate((kReceives + kSends) * kStride);
    key_ = *group_->Register(memory_.bytes());
    for (int i = 0; i < receives; ++i) {
      const GroupReceive one = {static_cast<uint64_t>(i),
                                Buffer(i).first(kSendBuffer), key_};
      EXPECT_TRUE(group_->PostReceives({&one, 1}).ok());
    }
    pair_ = *group_->CreatePair();
  }

  // Its offer, correct in itself.
  VerbsEndpoint Offer() const {
    VerbsEndpoint own;
    own.version = kSendVersion;
    own.device = port_.choice.device;
    own.address.number = pair_->number();
    own.address.psn = 77;
    own.address.lid = port_.choice.port.lid;
    own.address.gid = port_.choice.gid.gid;
    own.address.kind = port_.choice.gid.kind;
    own.address.mtu = port_.choice.port.mtu;
    own.window = kSendWindow;
    own.buffer_bytes = kSendBuffer;
    own.max_message = 1000;
    return own;
  }

  // Requests a link of the listener at `address`, and connects.
  absl::Status Knock(VerbsRendezvous& rendezvous, const std::string& address) {
    auto answered = std::make_shared<absl::Notification>();
    auto answer = std::make_shared<absl::StatusOr<VerbsEndpoint>>(
        absl::UnknownError("no answer"));
    rendezvous.Exchange(address, Offer(), Patience(absl::Seconds(30)),
                        [=](absl::StatusOr<VerbsEndpoint> found) {
                          *answer = std::move(found);
                          answered->Notify();
                        });
    answered->WaitForNotification();
    if (!answer->ok()) return answer->status();
    peer_ = **answer;
    return pair_->Connect(port_.choice.gid, Offer().address, peer_.address,
                          {.ack_timeout = 12});
  }

  // The link is established with that.
  void SayHello() {
    Send(SendKind::kHello, 0,
         {reinterpret_cast<const char*>(&peer_.token), sizeof(peer_.token)});
  }

  // Its SENDs must be fewer than kSends that have not completed.
  void Send(SendKind kind, uint32_t length, absl::string_view payload = "",
            uint64_t taken = 0) {
    const absl::Span<std::byte> buffer =
        Buffer(kReceives + static_cast<int>(posted_ % kSends));
    const SendHead head = {kind, {}, length, taken};
    std::memcpy(buffer.data(), &head, sizeof(head));
    std::memcpy(buffer.data() + sizeof(head), payload.data(), payload.size());
    GroupSend send;
    send.id = ++posted_;
    send.from = buffer.first(sizeof(head) + payload.size());
    send.key = key_;
    send.signaled = true;
    (void)pair_->Send(send);  // one that is cut off goes on
  }

  // The next that completes, if something has.
  std::optional<GroupCompletion> Next() {
    GroupCompletion one;
    const auto count = group_->Poll(absl::MakeSpan(&one, 1));
    EXPECT_TRUE(count.ok());
    if (!count.ok() || *count == 0) return std::nullopt;
    return one;
  }

  SendHead HeadOf(const GroupCompletion& received) {
    SendHead head;
    std::memcpy(&head, Buffer(static_cast<int>(received.id)).data(),
                sizeof(head));
    return head;
  }

  const VerbsEndpoint& peer() const { return peer_; }
  GroupPair& pair() { return *pair_; }

 private:
  absl::Span<std::byte> Buffer(int i) {
    return memory_.bytes().subspan(static_cast<size_t>(i) * kStride, kStride);
  }

  const OpenedPort port_;
  PinnedMemory memory_;
  std::shared_ptr<VerbsGroup> group_;
  uint32_t key_ = 0;
  std::unique_ptr<GroupPair> pair_;
  VerbsEndpoint peer_;
  uint64_t posted_ = 0;
};

}  // namespace kamino::transport

#endif  // KAMINO_TESTS_TRANSPORT_RAW_SENDER_H_
