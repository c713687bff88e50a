#include "replica/integrity/damage.h"

#include "absl/strings/str_cat.h"
#include "membership/condition.h"

namespace kamino::replica {

void Damage::EndNow(absl::string_view why) { outbox_->Fail(Record(why)); }

void Damage::Condemn(absl::string_view why, LinkId listener, absl::Time until) {
  condemned_ = Record(why);
  listener_ = listener;
  until_ = until;
}

void Damage::OnLinkClosed(LinkId link) {
  if (link == listener_) listener_ = kNoLink;
}

void Damage::OnTick(absl::Time now) {
  if (!condemned()) return;
  if (listener_ != kNoLink && now < until_) return;
  outbox_->Fail(condemned_);
}

absl::Status Damage::Record(absl::string_view why) {
  NodeState state = record_->state();
  state.condition = membership::Condition::kReceiving;
  state.was_head = state.local_undo = false;
  state.view_id = 0;  // it holds nothing of that view any more
  state.disputed = 0;
  state.disputed_whole = false;
  record_->Update(state);
  return absl::DataLossError(absl::StrCat(
      why,
      ". Its data is no longer used; after a restart it joins as a new node"));
}

}  // namespace kamino::replica
