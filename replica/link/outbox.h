// Collects the output of a core's parts: messages, links to open and close,
// completion, and a failure of the node. During an input it goes to the input's
// caller.
//
// Every message carries the ids of the chain and of the node's view at that
// time.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_LINK_OUTBOX_H_
#define KAMINO_REPLICA_LINK_OUTBOX_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "kamino/internal/v1/chain.pb.h"
#include "membership/view.h"
#include "replica/link/chain_actions.h"
#include "replica/log/log_entry.h"

namespace kamino::replica {

class Outbox {
 public:
  // While it exists, output is appended to `to`. Deliveries may be nested.
  class Delivery {
   public:
    Delivery(Outbox* outbox, Actions* to)
        : outbox_(outbox), before_(std::exchange(outbox->actions_, to)) {
      // A core that failed before its first input reports it then.
      if (to->fatal.ok()) std::swap(to->fatal, outbox->kept_.fatal);
    }
    ~Delivery() { outbox_->actions_ = before_; }
    Delivery(const Delivery&) = delete;
    Delivery& operator=(const Delivery&) = delete;

   private:
    Outbox* const outbox_;
    Actions* const before_;
  };

  Outbox() = default;
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  void set_chain_id(uint64_t chain_id) { chain_id_ = chain_id; }
  void set_view_id(uint64_t view_id) { view_id_ = view_id; }
  uint64_t view_id() const { return view_id_; }

  // Appends a message to be sent on the link; the caller fills it in before
  // anything else is sent.
  kamino::internal::v1::ChainMessage& Send(LinkId link);
  // Appends a message that carries the entry, which stays where it is; the
  // caller may add to it, as to Send's.
  kamino::internal::v1::Append* SendEntry(LinkId link, const LogEntry& entry);
  // Tells the other side that its message is refused. `behind`: that its state
  // is of no use.
  void Reject(LinkId link, std::string reason, bool behind);

  // Returns the new link's name.
  LinkId Open(const membership::Member& member,
              kamino::internal::v1::LinkPurpose purpose);
  void Close(LinkId link);  // nothing for kNoLink

  void FetchView() { actions_->fetch_view = true; }
  void Complete(uint64_t sequence) { actions_->completed = sequence; }

  // This node must stop. The first reason counts.
  void Fail(absl::Status status);
  bool failed() const { return failed_; }

  // --- Refused messages.

  // Whether a message came on the right link; counts it if not.
  bool Belongs(bool on_its_link);
  const TurnedDown& turned_down() const { return turned_down_; }

  // No correct peer sends the message on this link: it is refused, and the link
  // is closed after this input.
  struct FailedLink {
    LinkId link;
    std::string why;
  };
  void ProtocolError(LinkId link, std::string why);
  // The links that failed during this input.
  std::vector<FailedLink> TakeFailedLinks() {
    return std::exchange(failed_links_, {});
  }

  // Output from before the first delivery.
  Actions Take() { return std::exchange(kept_, Actions()); }

 private:
  uint64_t chain_id_ = 0;
  uint64_t view_id_ = 0;
  LinkId next_link_ = 1;  // odd ones
  bool failed_ = false;   // for good
  Actions kept_;
  Actions* actions_ = &kept_;  // where output goes
  TurnedDown turned_down_;
  std::vector<FailedLink> failed_links_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_LINK_OUTBOX_H_
