#include "replica/link/handshake.h"

#include "absl/strings/str_cat.h"
#include "membership/condition.h"
#include "membership/member_identity.h"
#include "membership/view.h"

namespace kamino::replica {

using kamino::internal::v1::Hello;
using kamino::internal::v1::LINK_PURPOSE_APPEND;
using kamino::internal::v1::LINK_PURPOSE_COMPLETION;
using membership::Member;

void DescribeNode(const ChainOptions& options, const NodeState& state,
                  Hello* hello) {
  hello->set_cluster_id(options.cluster_id);
  hello->set_node_id(options.node_id);
  hello->set_incarnation(options.incarnation);
  hello->set_heap_bytes(options.heap_bytes);
  membership::ToMessage(options.agreement, hello->mutable_agreement_ranges());
  hello->set_cluster_uuid(BytesOf(state.cluster_uuid));
  hello->set_epoch(state.epoch);
}

std::string RefuseStranger(const ChainOptions& options, const NodeState& state,
                           const membership::View& view, const Hello& hello) {
  if (hello.cluster_id() != options.cluster_id) {
    return absl::StrCat("this is cluster ", options.cluster_id, ", not ",
                        hello.cluster_id());
  }
  const std::string uuid = BytesOf(state.cluster_uuid);
  if (!uuid.empty() && !hello.cluster_uuid().empty() &&
      hello.cluster_uuid() != uuid) {
    return absl::StrCat("this cluster, named ", options.cluster_id,
                        ", is not that of ", hello.node_id(), "'s data");
  }
  if (hello.heap_bytes() != options.heap_bytes) {
    return absl::StrCat("heaps differ in size: ", options.heap_bytes,
                        " bytes here, ", hello.heap_bytes(), " there");
  }
  const membership::Agreement there =
      membership::AgreementFrom(hello.agreement_ranges());
  std::string mismatch = membership::Malformed(there);
  if (mismatch.empty()) {
    mismatch = membership::MismatchOf(options.agreement, options.node_id, there,
                                      hello.node_id());
  }
  if (mismatch.empty()) {
    mismatch = membership::MismatchOf(there, hello.node_id(), view.in_force);
  }
  return mismatch;
}

std::string RefuseNeighbour(const ChainOptions& options, const NodeState& state,
                            const Place& place, const Hello& hello) {
  if (state.condition == membership::Condition::kReceiving) {
    return absl::StrCat(options.node_id, " holds no state of the chain");
  }
  if (hello.epoch() != state.epoch) {
    return absl::StrCat(hello.node_id(), " holds data of recovery epoch ",
                        hello.epoch(), ", ", options.node_id, " of epoch ",
                        state.epoch);
  }
  const Member* expected = nullptr;
  if (hello.purpose() == LINK_PURPOSE_APPEND) {
    expected = place.predecessor();
  } else if (hello.purpose() == LINK_PURPOSE_COMPLETION &&
             place.role() == membership::Role::kHead) {
    expected = &place.view.tail();
  }
  if (expected == nullptr || expected->node_id != hello.node_id()) {
    return absl::StrCat(hello.node_id(), " is not the neighbour of ",
                        options.node_id, " in view ", place.view.id);
  }
  if (hello.incarnation() != expected->incarnation) {
    return absl::StrCat("this is ", hello.node_id(),
                        " in another life than "
                        "that of view ",
                        place.view.id);
  }
  return "";
}

std::string RefuseImpostor(const ChainOptions& options,
                           const membership::View& view, const Hello& hello,
                           const std::string& identity) {
  std::string expected =
      membership::NodeIdentity(options.cluster_id, hello.node_id());
  for (const Member& member : view.members) {
    if (member.node_id != hello.node_id()) continue;
    expected = membership::IdentityOf(options.cluster_id, member);
  }
  if (identity == expected) return "";
  return absl::StrCat(identity.empty() ? "a peer without identity" : identity,
                      " says it is ", hello.node_id(), ", which is ", expected);
}

}  // namespace kamino::replica
