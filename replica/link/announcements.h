// A head on probation announces a request to its successor before it executes
// it. A head is on probation after an earlier head has crashed: if this one
// crashes too, the successor knows the request.
//
//   the head   input              next       effects
//   kQuiet     Announce           kAsked     Announce is sent if linked
//   kAsked     Announce, again    kAsked     none
//              OnAck, of the last kHeard
//   kHeard     Announce, again    kHeard     none: it may be executed
//   these      Announce, another  kAsked     as above
//              OnSync, Leave      kAsked     as above
//              End                kQuiet     an empty Announce is sent
//   kQuiet     OnSync, of one of  kQuiet     an empty Announce is sent
//              this process
//
// A head without a successor writes the request into its own record, and finds
// it there after a restart.
//
// The successor remembers the last announced request and the process that
// announced it, until the request is over. The request is suspect once that
// process is not in the view any more: the head crashed on it, or at the same
// moment. The next head learns of it from Sync, or is the node that remembers
// it.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_LINK_ANNOUNCEMENTS_H_
#define KAMINO_REPLICA_LINK_ANNOUNCEMENTS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "kamino/internal/v1/chain.pb.h"
#include "membership/view.h"
#include "replica/link/chain_actions.h"
#include "replica/link/chain_options.h"
#include "replica/link/outbox.h"
#include "replica/log/node_record.h"
#include "replica/log/request_identity.h"

namespace kamino::replica {

class Announcements {
 public:
  enum class State {
    kQuiet,  // nothing is announced
    kAsked,  // the successor has not answered
    kHeard,  // it has answered
  };

  // All pointers must outlive it.
  Announcements(const ChainOptions& options, NodeRecord* record,
                Outbox* outbox);

  State state() const { return state_; }
  // Whether the successor owes an answer; and how often it has answered.
  bool waits() const { return state_ == State::kAsked; }
  uint64_t answers() const { return answers_; }
  // The last announced request is over, and the successor knows that.
  bool over() const {
    return state_ == State::kQuiet && heard_number_ == number_;
  }

  // Enters a view, in which this node is at `index`; -1: it is not a member.
  void Enter(const membership::View& view, int index);

  // --- At the head.

  // Whether `request` may be executed now. `successor`: the link to it;
  // kNoLink: it is not up. With `alone`, in a chain of one, the request may be
  // executed.
  bool Announce(const RequestIdentity& request, LinkId successor, bool alone);
  // The last announced request is over.
  void End(LinkId successor);
  void OnAck(const kamino::internal::v1::AnnounceAck& ack);
  // Receives the successor's memory.
  void OnSync(const kamino::internal::v1::Sync& sync, LinkId successor);
  // The request that a crashed head had announced. Returned once, and again
  // each time another message names it.
  std::optional<RequestIdentity> TakeQuarantined();

  // --- At the successor.

  void OnAnnounce(const kamino::internal::v1::Announce& announce, LinkId link);
  // Adds the remembered request.
  void TellIn(kamino::internal::v1::Sync* sync) const;

 private:
  void Send(LinkId successor);
  void Note(const RequestIdentity& request);

  const ChainOptions& options_;
  NodeRecord* const record_;
  Outbox* const outbox_;

  State state_ = State::kQuiet;
  RequestIdentity request_;    // unless kQuiet
  uint64_t number_ = 0;        // of the last announcement
  uint64_t heard_number_ = 0;  // of the last answer
  uint64_t answers_ = 0;
  std::optional<RequestIdentity> quarantined_;

  struct Heard {
    std::string node_id;  // the head's at that time
    uint64_t incarnation = 0;
    RequestIdentity request;
  };
  std::optional<Heard> heard_;
  // The head right before this node; "": none.
  std::string head_id_;
  uint64_t head_incarnation_ = 0;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_LINK_ANNOUNCEMENTS_H_
