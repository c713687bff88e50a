// What a head is about to execute, told to its successor beforehand. A head
// does so while it is on probation, as one before it has died: if it dies as
// well, others know of what.
//
//   the head   input              next       effects
//   kQuiet     Announce           kAsked     Announce is sent, if somebody is
//                                            there to hear it
//   kAsked     Announce, again    kAsked     none
//              OnAck, of the last kHeard
//   kHeard     Announce, again    kHeard     none: it may be executed
//   these      Announce, another  kAsked     as above
//              OnSync, Leave      kAsked     as above
//              End                kQuiet     an empty Announce is sent
//   kQuiet     OnSync, of one of  kQuiet     an empty Announce is sent
//              this process
//
// A head that is the whole chain has nobody to tell: it writes it into its own
// record, and finds it there when it comes back.
//
// The successor remembers the last one, and of which process it was, until that
// is over. It is blamed once that process is not in the view any more: a head
// died of it, or at the same moment. Then the next head is told in Sync, or is
// the one who remembers.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_ANNOUNCEMENTS_H_
#define KAMINO_REPLICA_ANNOUNCEMENTS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "kamino/internal/v1/chain.pb.h"
#include "membership/view.h"
#include "replica/chain_actions.h"
#include "replica/chain_options.h"
#include "replica/node_record.h"
#include "replica/outbox.h"
#include "replica/request_identity.h"

namespace kamino::replica {

class Announcements {
 public:
  enum class State {
    kQuiet,  // nothing is announced
    kAsked,  // the successor is to hear of it
    kHeard,  // it has
  };

  // All must outlive it.
  Announcements(const ChainOptions& options, NodeRecord* record,
                Outbox* outbox);

  State state() const { return state_; }
  // The successor has to answer; and how often it has.
  bool waits() const { return state_ == State::kAsked; }
  uint64_t answers() const { return answers_; }
  // What was announced is over, and the successor knows that.
  bool over() const {
    return state_ == State::kQuiet && heard_number_ == number_;
  }

  // A view, in which this node is at `index`, or nowhere (-1).
  void Enter(const membership::View& view, int index);

  // --- At the head.

  // Whether `request` may be executed now. `successor`: the link to who is to
  // be told; kNoLink: it is not up. In a chain of one, `alone`, it may.
  bool Announce(const RequestIdentity& request, LinkId successor, bool alone);
  // What was announced last is over.
  void End(LinkId successor);
  void OnAck(const kamino::internal::v1::AnnounceAck& ack);
  // What the successor remembers.
  void OnSync(const kamino::internal::v1::Sync& sync, LinkId successor);
  // What a head that died had announced. Told once, and again if it is heard of
  // again.
  std::optional<RequestIdentity> TakeBlamed();

  // --- At the successor.

  void OnAnnounce(const kamino::internal::v1::Announce& announce, LinkId link);
  // Fills in what it remembers.
  void TellIn(kamino::internal::v1::Sync* sync) const;

 private:
  void Send(LinkId successor);
  void Note(const RequestIdentity& request);

  const ChainOptions& options_;
  NodeRecord* const record_;
  Outbox* const outbox_;

  State state_ = State::kQuiet;
  RequestIdentity request_;    // unless kQuiet
  uint64_t number_ = 0;        // of the last one
  uint64_t heard_number_ = 0;  // of the last one that was answered
  uint64_t answers_ = 0;
  std::optional<RequestIdentity> blamed_;

  struct Heard {
    std::string node_id;  // of the head, at the time
    uint64_t incarnation = 0;
    RequestIdentity request;
  };
  std::optional<Heard> heard_;
  // The head that this node follows at once; "": none.
  std::string head_id_;
  uint64_t head_incarnation_ = 0;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_ANNOUNCEMENTS_H_
