// A node that was restarted, and has its place again, may be on an old copy of
// its files. It takes part once its neighbours have borne out that it holds
// what it must (invariant 5); until then it neither leads, nor appends, nor
// answers, nor gives its state to others.
//
// Where two neighbours are at odds one of them is on an old copy. Neither stops
// for the other's word: the link is not taken up, one that was restarted says
// that it is outrun, and the manager, which has the word of every member,
// decides (membership/next_view.h, ShortfallOf).
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "replica/chain_core.h"

namespace kamino::replica {

using kamino::internal::v1::Hello;
using kamino::internal::v1::Sync;
using membership::Condition;
using membership::Member;

bool ChainCore::may_append() const {
  return !returned_ || view_.Successor(index_) == nullptr || agreed_.after;
}

bool ChainCore::AgreesWithPredecessor(const Hello& hello) {
  // One that is behind may be so far behind that it has to begin anew.
  const bool lacks =
      hello.cleaned() > ring_->applied() && condition() != Condition::kBehind;
  if (!lacks && hello.applied() >= ring_->received()) {
    agreed_.before = true;
    outrun_by_.before = false;
    return_to_ = hello.applied();
    return true;
  }
  outrun_by_.before = lacks;
  LOG_IF(WARNING, !std::exchange(at_odds_, true))
      << (lacks && returned_ ? "this node" : "the predecessor")
      << " may be on an old copy of its data: " << hello.node_id()
      << " has applied mutations up to " << hello.applied()
      << " and cleaned up to " << hello.cleaned()
      << ", this node has received up to " << ring_->received()
      << " and applied up to " << ring_->applied();
  return false;
}

bool ChainCore::AgreesWithSuccessor(const Sync& sync, Actions* actions) {
  const bool outrun = sync.received() > ring_->applied();
  if (!outrun && ring_->EndsEntry(sync.received())) {
    agreed_.after = true;
    outrun_by_.after = false;
    return true;
  }
  outrun_by_.after = outrun;
  std::string reason = absl::StrCat(
      "the successor has received mutations up to ", sync.received(),
      ", which this node cannot continue: it has applied those up to ",
      ring_->applied(), ", and cleaned up to ", ring_->cleaned());
  LOG_IF(WARNING, !std::exchange(at_odds_, true)) << reason;
  if (!joining_node_.empty()) {
    ForgetJoining(actions);
    return false;
  }
  // Tried again when the link has been idle for long enough. One that is
  // behind begins anew, but not for the word of a node that may be so itself.
  SendReject(successor_.link, std::move(reason),
             sync.behind() && !(returned_ && outrun), actions);
  return false;
}

void ChainCore::CheckReturned() {
  if (!returned_) return;
  const bool before = view_.Predecessor(index_) == nullptr ||
                      (agreed_.before && ring_->applied() >= return_to_);
  if (agreed_.after && awaiting_resend_ && predecessor_ != kNoLink) {
    owe_sync_ = true;
  }
  if (!before || !may_append()) return;
  LOG(INFO) << "this node goes on with what it held before it was restarted";
  returned_ = false;
}

}  // namespace kamino::replica
