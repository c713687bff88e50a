#include "replica/repair/returning.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"

namespace kamino::replica {

using kamino::internal::v1::Hello;
using kamino::internal::v1::Sync;

void Returning::Enter(bool has_predecessor, bool has_successor) {
  Leave();
  if (!has_predecessor) before_ = Word::kAbsent;
  if (!has_successor) after_ = Word::kAbsent;
}

void Returning::Leave() {
  before_ = after_ = Word::kSilent;
  return_to_ = 0;
  at_odds_logged_ = false;
}

bool Returning::FirstAtOdds() { return !std::exchange(at_odds_logged_, true); }

bool Returning::OnHello(const Hello& hello, bool behind) {
  const bool lacks = hello.cleaned() > ring_->applied() && !behind;
  if (!lacks && hello.applied() >= ring_->received()) {
    before_ = Word::kAgrees;
    return_to_ = hello.applied();
    return true;
  }
  if (lacks) {
    before_ = Word::kHoldsMore;
  } else if (before_ == Word::kHoldsMore) {
    before_ = Word::kSilent;
  }
  LOG_IF(WARNING, FirstAtOdds())
      << (lacks && !trusted() ? "this node" : "the predecessor")
      << " may be on an old copy of its data: " << hello.node_id()
      << " has applied mutations up to " << hello.applied()
      << " and cleaned up to " << hello.cleaned()
      << ", this node has received up to " << ring_->received()
      << " and applied up to " << ring_->applied();
  return false;
}

Returning::Verdict Returning::OnSync(const Sync& sync) {
  const bool outrun = sync.received() > ring_->applied();
  if (!outrun && ring_->EndsEntry(sync.received())) {
    after_ = Word::kAgrees;
    return {};
  }
  if (outrun) {
    after_ = Word::kHoldsMore;
  } else if (after_ == Word::kHoldsMore) {
    after_ = Word::kSilent;
  }
  Verdict verdict;
  verdict.agrees = false;
  verdict.reason = absl::StrCat(
      "the successor has received mutations up to ", sync.received(),
      ", which this node cannot continue: it has applied those up to ",
      ring_->applied(), ", and cleaned up to ", ring_->cleaned());
  // A node that is behind begins anew, unless this node, whose report says so,
  // may be behind itself.
  verdict.useless = sync.behind() && (trusted() || !outrun);
  LOG_IF(WARNING, FirstAtOdds()) << verdict.reason;
  return verdict;
}

void Returning::Check() {
  if (trusted()) return;
  const bool before =
      before_ == Word::kAbsent ||
      (before_ == Word::kAgrees && ring_->applied() >= return_to_);
  if (!before || !may_append()) return;
  LOG(INFO) << "this node continues with its data from before the restart";
  state_ = State::kTrusted;
}

}  // namespace kamino::replica
