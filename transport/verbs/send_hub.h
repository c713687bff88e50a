// Resources that the links without rings on one device share: a group of pairs,
// the receives of all of them, and the pairs that are closing.
//
// Invariants:
//   1. For each pair kLinkReceives buffers are posted, or are being delivered
//      right now: a peer that keeps to its window always finds one.
//   2. A peer cannot address any memory here.
//   3. A pair is destroyed only once it has drained, lest a receive be lost.
#ifndef KAMINO_TRANSPORT_VERBS_SEND_HUB_H_
#define KAMINO_TRANSPORT_VERBS_SEND_HUB_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "transport/loop/event_loop.h"
#include "transport/verbs/choose_port.h"
#include "transport/verbs/pinned_memory.h"
#include "transport/verbs/send_wire.h"
#include "transport/verbs/verbs_group.h"

namespace kamino::transport {

// The user of a pair: one end of a link. The loop's thread.
class SendUser {
 public:
  virtual ~SendUser() = default;
  // Keeps it alive while it is being called.
  virtual std::shared_ptr<void> Keep() = 0;
  // The peer's bytes, valid until it returns.
  virtual void OnReceived(absl::Span<const std::byte> bytes) = 0;
  virtual void OnSent(uint64_t id) = 0;
  virtual void OnPairFailed(const char* why) = 0;
  // Ends a batch of these; the buffers of received bytes are posted again.
  virtual void OnBatchEnd() = 0;
  // Unfinished messages use too much memory, and this user has the oldest.
  virtual void OnTooMuchUnfinished() = 0;
};

// The loop's thread only.
class SendHub final : private Poller {
 public:
  // For so many links, or fewer if the device has less. Their unfinished
  // messages have at most so many bytes together. Errors: as
  // VerbsDevice::CreateGroup.
  static absl::StatusOr<std::unique_ptr<SendHub>> Create(EventLoop* loop,
                                                         const OpenedPort& port,
                                                         size_t max_inline,
                                                         int max_links,
                                                         size_t max_unfinished);
  // All wires are gone.
  ~SendHub() override;

  const std::shared_ptr<VerbsDevice>& device() const { return port_.device; }

  // Its receives are posted on return. kResourceExhausted: at the limit, or no
  // memory.
  absl::StatusOr<std::unique_ptr<SendWire>> MakeWire();
  // Calls `user` for completions on `wire`, until TakeBack.
  void Attach(const SendWire& wire, SendUser* user);

  // Sends a bye to the peer, unless `at_once`, and destroys the wire soon; then
  // calls `done`, perhaps before it returns. Later completions are dropped.
  void TakeBack(std::unique_ptr<SendWire> wire, bool at_once,
                std::function<void()> done);
  // The device says that the pair fills no receive any more.
  void OnDrained(uint32_t number);
  // No wire will be made any more; those that close need not drain.
  void NoMore() { no_more_ = true; }
  // No wire is in use or closing.
  bool idle() const { return wires_ == 0; }
  // It has failed its links and serves no other ones.
  bool broken() const { return broken_; }

  // Numbers an unfinished message; 0 is none.
  uint64_t BeginUnfinished(SendUser* user);
  // May call OnTooMuchUnfinished of any user.
  void GrowUnfinished(uint64_t number, size_t bytes);
  void EndUnfinished(uint64_t number);

 private:
  // Buffers of one link: its receives, which all share, and its sends.
  struct Slab {
    PinnedMemory memory;
    uint32_t key = 0;
  };
  struct Leaving {
    std::unique_ptr<SendWire> wire;
    std::function<void()> done;
    bool said_bye = false;
    bool draining = false;
    EventLoop::Id timer = 0;
  };
  struct Unfinished {
    SendUser* user;
    size_t bytes = 0;
  };
  using Touched = std::pair<SendUser*, std::shared_ptr<void>>;

  SendHub(EventLoop* loop, const OpenedPort& port,
          std::shared_ptr<VerbsGroup> group, size_t max_unfinished);

  bool Poll() override;
  bool Arm() override;
  void Disarm() override {}

  absl::StatusOr<size_t> TakeCompletions();
  void Dispatch(const GroupCompletion& completion);
  // The user of that pair, kept until the batch ends; or null.
  SendUser* Touch(uint32_t pair);
  void EndBatch();
  void FailAll(const char* why);

  absl::Status AddSlab();
  GroupReceive ReceiveOf(uint64_t id);

  void Proceed(uint32_t number, const GroupCompletion* completion);
  void Drain(uint32_t number);
  void Destroy(uint32_t number);

  EventLoop* const loop_;
  const OpenedPort port_;
  const size_t max_unfinished_;
  std::vector<Slab> slabs_;  // before the group, which uses them
  const std::shared_ptr<VerbsGroup> group_;
  EventLoop::Id watch_ = 0;
  bool no_more_ = false;
  bool broken_ = false;

  std::vector<size_t> free_;  // slabs with unused sends
  int wires_ = 0;
  absl::flat_hash_map<uint32_t, SendUser*> users_;
  std::map<uint32_t, Leaving> leaving_;

  std::array<GroupCompletion, 64> completions_;
  size_t completion_count_ = 0;  // picked up by Arm, not handled yet
  std::vector<GroupReceive> used_;
  std::vector<Touched> touched_;

  uint64_t next_unfinished_ = 1;
  std::map<uint64_t, Unfinished> unfinished_;  // oldest first
  size_t unfinished_bytes_ = 0;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_SEND_HUB_H_
