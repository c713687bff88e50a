// What the nodes of one chain must have in common besides the size of their
// heaps: the sizes, formats and procedures without which one could not take
// what another sends. Here they are names and values to compare; who makes one
// knows what they mean (node/driver/node_agreement.h).
#ifndef KAMINO_MEMBERSHIP_AGREEMENT_H_
#define KAMINO_MEMBERSHIP_AGREEMENT_H_

#include <cstddef>
#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace kamino::membership {

using Agreement = std::map<std::string, std::string>;

// Names and values together. A view's record holds one for each member.
inline constexpr size_t kMaxAgreementBytes = 16u << 10;

size_t AgreementBytes(const Agreement& agreement);

// The first thing that `a`, of node `a_node`, and `b` do not have in common, as
// "ring_mb is 16 at n2, but 64 at n1"; empty when there is none.
std::string Misfit(const Agreement& a, absl::string_view a_node,
                   const Agreement& b, absl::string_view b_node);

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_AGREEMENT_H_
