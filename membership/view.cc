#include "membership/view.h"

#include <tuple>

#include "absl/strings/str_cat.h"

namespace kamino::membership {
namespace {

std::vector<const Agreement*> AgreementsOf(const std::vector<Member>& members) {
  std::vector<const Agreement*> agreements;
  for (const Member& member : members) agreements.push_back(&member.agreement);
  return agreements;
}

}  // namespace

absl::string_view RoleName(Role role) {
  switch (role) {
    case Role::kHead:
      return "head";
    case Role::kMiddle:
      return "middle";
    case Role::kTail:
      return "tail";
    case Role::kSingle:
      return "single";
    case Role::kOutside:
      break;
  }
  return "outside";
}

bool operator==(const Member& a, const Member& b) {
  const auto fields = [](const Member& member) {
    return std::tie(member.node_id, member.incarnation, member.service_address,
                    member.link_addresses, member.heap_bytes, member.heap_id,
                    member.agreement, member.identity);
  };
  return fields(a) == fields(b);
}

bool operator==(const View& a, const View& b) {
  return a.cluster_id == b.cluster_id && a.chain_id == b.chain_id &&
         a.id == b.id && a.members == b.members && a.excluded == b.excluded &&
         a.digest == b.digest && a.ancestors == b.ancestors &&
         a.in_force == b.in_force && a.cluster_uuid == b.cluster_uuid &&
         a.epoch == b.epoch && a.recovered_at == b.recovered_at &&
         a.away == b.away;
}

void View::Agree(const InForce& before) {
  in_force = KeptOf(before, AgreementsOf(members));
}

InForce View::FinalLevels() const {
  return FinalLevelsOf(AgreementsOf(members));
}

ChainMode View::mode() const {
  const auto found = in_force.find(std::string(kChainModeTerm));
  return found == in_force.end() ? ChainMode::kKamino
                                 : static_cast<ChainMode>(found->second);
}

int View::IndexOf(absl::string_view node_id, uint64_t incarnation) const {
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i].node_id == node_id &&
        members[i].incarnation == incarnation) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

Role View::RoleOf(absl::string_view node_id, uint64_t incarnation) const {
  return RoleAt(IndexOf(node_id, incarnation));
}

const Member* View::Predecessor(int index) const {
  return index > 0 ? &members[index - 1] : nullptr;
}

const Member* View::Successor(int index) const {
  return index >= 0 && index + 1 < static_cast<int>(members.size())
             ? &members[index + 1]
             : nullptr;
}

bool View::handed_over() const {
  for (const auto& [node_id, each] : away) {
    if (each.was_head && each.view_id == id &&
        IndexOf(node_id, each.incarnation) < 0) {
      return true;
    }
  }
  return false;
}

std::string View::ToString() const {
  if (!formed()) return "no view yet";
  std::string text = absl::StrCat("view ", id, ":");
  for (size_t i = 0; i < members.size(); ++i) {
    const Role role = RoleAt(static_cast<int>(i));
    absl::StrAppend(&text, i == 0 ? " " : " -> ", members[i].node_id);
    if (role != Role::kMiddle)
      absl::StrAppend(&text, " (", RoleName(role), ")");
  }
  return text;
}

}  // namespace kamino::membership
