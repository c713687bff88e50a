#include "membership/manager/common_settings.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "membership/agreement.h"

namespace kamino::membership {

absl::Status InCommon(absl::string_view mismatch) {
  if (mismatch.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(mismatch, "; all nodes of a chain must have it in common"));
}

absl::Status CommonSettings::CheckHeap(const Member& member,
                                       absl::Time now) const {
  const Member* other = nullptr;
  if (context_->view.formed()) {
    other = &context_->view.head();
  } else {
    for (const auto& [id, node] : registry_->nodes()) {
      if (id != member.node_id && registry_->Alive(node, now)) {
        other = &node.state.member;
      }
    }
  }
  if (other == nullptr || other->heap_bytes == member.heap_bytes) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "node ", member.node_id, " has a heap of ", member.heap_bytes >> 20,
      " MiB, member ", other->node_id, " one of ", other->heap_bytes >> 20,
      " MiB; heaps of one chain are equal: start it with --heap_mb=",
      other->heap_bytes >> 20));
}

bool CommonSettings::Binds(const Node& node, absl::Time now) const {
  return registry_->Alive(node, now) &&
         (!context_->view.formed() || context_->HasPlace(node.state.member));
}

absl::Status CommonSettings::CheckAgreement(const Member& member,
                                            absl::Time now) const {
  std::string mismatch;
  bool kept = false;  // by a member that acts in the view
  for (const auto& [id, node] : registry_->nodes()) {
    if (id == member.node_id || !Binds(node, now) || !mismatch.empty()) {
      continue;
    }
    // Only restarted members must fit the others.
    if (context_->ActsInView(member) &&
        !context_->ActsInView(node.state.member)) {
      continue;
    }
    mismatch = MismatchOf(member.agreement, member.node_id,
                          node.state.member.agreement, id);
    kept |= MismatchOf(node.state.member.agreement, id, context_->view.in_force)
                .empty();
  }
  // When all members are down, all can change together.
  if (mismatch.empty() && kept) {
    mismatch =
        MismatchOf(member.agreement, member.node_id, context_->view.in_force);
  }
  return InCommon(mismatch);
}

void CommonSettings::ForgetMismatches(const Member& member, absl::Time now) {
  if (!context_->HasPlace(member)) return;
  // The same for the levels in force, if a member keeps them: nodes that do not
  // fit could never join, and would be waited for forever.
  const bool keeps =
      MismatchOf(member.agreement, member.node_id, context_->view.in_force)
          .empty();
  registry_->EraseIf([&](Node* node) {
    const Member& other = node->state.member;
    const bool fits = MismatchOf(other.agreement, other.node_id,
                                 member.agreement, member.node_id)
                          .empty() &&
                      (!keeps || MismatchOf(other.agreement, other.node_id,
                                            context_->view.in_force)
                                     .empty());
    // It was admitted before members were heard that were not down, and the
    // levels in force must not fall below the ones that they use. Its former
    // data still counts.
    const bool is_proposed =
        context_->proposed.has_value() &&
        context_->proposed->IndexOf(other.node_id, other.incarnation) >= 0;
    // It holds no lease, because no view names it.
    if (!fits && context_->ActsInView(member) && !context_->ActsInView(other) &&
        !is_proposed) {
      node->last_heard =
          std::min(node->last_heard, now - context_->options.failure_timeout);
    }
    return !context_->HasPlace(other) && other.node_id != member.node_id &&
           !fits;
  });
}

void CommonSettings::ForgetMismatches() {
  registry_->EraseIf([this](Node* node) {
    const Member& member = node->state.member;
    return !context_->HasPlace(member) &&
           !MismatchOf(member.agreement, member.node_id,
                       context_->view.in_force)
                .empty();
  });
}

}  // namespace kamino::membership
