#include "membership/view_history.h"

#include <xxhash.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

namespace kamino::membership {
namespace {

// Never 0. Other programs compute it, too: what it covers stays as it is.
uint64_t DigestOf(const View& view) {
  std::string text =
      absl::StrCat(view.cluster_id, "/", view.chain_id, "/", view.id, "/",
                   view.ancestors.empty() ? 0 : view.ancestors.front(), "\n");
  for (const Member& member : view.members) {
    absl::StrAppend(&text, member.node_id, "/", member.incarnation, "/",
                    member.heap_id, "\n");
  }
  return std::max<uint64_t>(1, XXH3_64bits(text.data(), text.size()));
}

}  // namespace

void Succeed(const View& previous, View* next) {
  next->ancestors.clear();
  if (previous.formed()) {
    next->ancestors.push_back(previous.digest);
    next->ancestors.insert(next->ancestors.end(), previous.ancestors.begin(),
                           previous.ancestors.end());
    if (next->ancestors.size() > kMaxAncestors) {
      next->ancestors.resize(kMaxAncestors);
    }
  }
  next->digest = DigestOf(*next);
}

Kinship KinshipOf(uint64_t id, uint64_t digest, const View& stored) {
  if (id > stored.id) return Kinship::kAhead;
  if (id == 0 || digest == 0) return Kinship::kPast;
  const uint64_t back = stored.id - id;
  uint64_t known = stored.digest;
  if (back > 0) {
    known = back <= stored.ancestors.size() ? stored.ancestors[back - 1] : 0;
  }
  return known == 0 || known == digest ? Kinship::kPast : Kinship::kAnother;
}

}  // namespace kamino::membership
