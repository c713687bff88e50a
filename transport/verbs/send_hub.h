// Serves the links without rings on one device: it makes their wires on a group
// of pairs, and brings the group's completions to the links.
//
// Invariants:
//   1. For each pair kLinkReceives buffers are posted, or are being delivered
//      right now: a peer that keeps to its window always finds one.
//   2. A peer cannot address any memory here.
//   3. A pair is destroyed only once it has drained; otherwise the group
//      would lose a receive.
//
// Threads: the loop's thread only. Owns the wires that are leaving; a link owns
// its wire until RetireWire. Users are not owned.
#ifndef KAMINO_TRANSPORT_VERBS_SEND_HUB_H_
#define KAMINO_TRANSPORT_VERBS_SEND_HUB_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "transport/loop/event_loop.h"
#include "transport/verbs/choose_port.h"
#include "transport/verbs/leaving_wires.h"
#include "transport/verbs/send_buffers.h"
#include "transport/verbs/send_user.h"
#include "transport/verbs/send_wire.h"
#include "transport/verbs/unfinished_messages.h"
#include "transport/verbs/verbs_group.h"

namespace kamino::transport {

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
  // Calls `user` for completions on `wire`, until RetireWire.
  void Attach(const SendWire& wire, SendUser* user);

  // Sends a bye to the peer, unless `at_once`, and destroys the wire soon; then
  // calls `done`, perhaps before it returns. Later completions are dropped.
  void RetireWire(std::unique_ptr<SendWire> wire, bool at_once,
                  std::function<void()> done);
  // The device says that the pair fills no receive any more.
  void OnDrained(uint32_t number) { leaving_.OnDrained(number); }
  // No wire will be made any more; those that close need not drain.
  void NoMore() {
    no_more_ = true;
    leaving_.NeedNotDrain();
  }
  // No wire is in use or closing.
  bool idle() const { return buffers_.idle(); }
  // It has failed its links and serves no other ones.
  bool broken() const { return broken_; }

  // The incomplete messages of all links.
  UnfinishedMessages& unfinished() { return unfinished_; }

 private:
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
  // Handles all completions that the queue holds.
  void PollAll();

  EventLoop* const loop_;
  const OpenedPort port_;
  SendBuffers buffers_;  // before the group, which uses them
  const std::shared_ptr<VerbsGroup> group_;
  EventLoop::Id watch_ = 0;
  bool no_more_ = false;
  bool broken_ = false;

  absl::flat_hash_map<uint32_t, SendUser*> users_;
  LeavingWires leaving_;
  UnfinishedMessages unfinished_;

  std::array<GroupCompletion, 64> completions_;
  size_t completion_count_ = 0;  // picked up by Arm, not handled yet
  std::vector<GroupReceive> used_;
  std::vector<Touched> touched_;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_SEND_HUB_H_
