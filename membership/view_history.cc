#include "membership/view_history.h"

#include <xxhash.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

namespace kamino::membership {
namespace {

std::string TextOf(const View& view) {
  std::string text =
      absl::StrCat(view.cluster_id, "/", view.chain_id, "/", view.id, "/",
                   view.ancestors.empty() ? 0 : view.ancestors.front(), "\n");
  for (const Member& member : view.members) {
    absl::StrAppend(&text, member.node_id, "/", member.incarnation, "/",
                    member.heap_id, "\n");
  }
  return text;
}

// Never 0. Other programs compute it as well: the covered fields must not
// change.
uint64_t DigestOf(const View& view) {
  const std::string text = TextOf(view);
  return std::max<uint64_t>(1, XXH3_64bits(text.data(), text.size()));
}

// Derived from the heap ids, which are random.
std::string UuidOf(const View& view) {
  const std::string text = TextOf(view);
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, XXH3_128bits(text.data(), text.size()));
  return std::string(reinterpret_cast<const char*>(bytes.digest),
                     sizeof(bytes.digest));
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
  next->epoch = std::max({next->epoch, previous.epoch, uint64_t{1}});
  next->cluster_uuid = previous.cluster_uuid;
  if (next->cluster_uuid.empty()) next->cluster_uuid = UuidOf(*next);
  next->digest = DigestOf(*next);
}

bool HasItsDigest(const View& view) { return view.digest == DigestOf(view); }

Kinship KinshipOf(const KnownView& known_view, const View& stored) {
  const auto& [epoch, id, digest] = known_view;
  const KnownView newest{stored.epoch, stored.id, stored.digest};
  if (newest.IsBefore(known_view)) return Kinship::kAhead;
  if (epoch != 0 && epoch < stored.epoch) {
    return id < stored.id ? Kinship::kPast : Kinship::kAbandoned;
  }
  if (id == 0 || digest == 0) return Kinship::kPast;
  const uint64_t back = stored.id - id;
  uint64_t known = stored.digest;
  if (back > 0) {
    known = back <= stored.ancestors.size() ? stored.ancestors[back - 1] : 0;
  }
  return known == 0 || known == digest ? Kinship::kPast : Kinship::kAnother;
}

KnownView KnownOf(const View& view) { return {view.epoch, view.id, 0}; }

bool IsSame(const KnownView& a, const KnownView& b) {
  return !a.IsBefore(b) && !b.IsBefore(a);
}

bool IsSame(const KnownView& known, const View& view) {
  return IsSame(known, KnownOf(view));
}

bool IsAheadOf(const KnownView& known, const View& stored) {
  const Kinship kinship = KinshipOf(known, stored);
  return kinship == Kinship::kAhead ||
         (kinship == Kinship::kAnother && known.id >= stored.id);
}

}  // namespace kamino::membership
