#include "replica/integrity/range_votes.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace kamino::replica {

using kamino::internal::v1::RangeVote;

namespace {

// The previously agreed digest, if all agree on one; 0: they do not, or none is
// known.
uint64_t AgreedBefore(const RangeVotes& votes) {
  uint64_t agreed = 0;
  for (const RangeVote& vote : votes) {
    if (vote.agreed() == 0) continue;
    if (agreed != 0 && agreed != vote.agreed()) return 0;
    agreed = vote.agreed();
  }
  return agreed;
}

// The number of votes for each digest.
std::map<uint64_t, size_t> CountVotes(const RangeVotes& votes) {
  std::map<uint64_t, std::set<std::string>> origins;
  for (const RangeVote& vote : votes) {
    std::set<std::string>& known = origins[vote.digest()];
    if (!vote.copied()) {
      known.insert(vote.node_id());
    } else if (!vote.source().empty()) {
      known.insert(vote.source());
    }
  }
  std::map<uint64_t, size_t> counts;
  for (const auto& [digest, known] : origins) {
    // Copies of unknown source may be copies of each other.
    counts[digest] = std::max<size_t>(1, known.size());
  }
  const uint64_t before = AgreedBefore(votes);
  if (before != 0) ++counts[before];
  return counts;
}

// A copy comes after its possible source.
size_t ToExpel(const RangeVotes& votes, uint64_t right) {
  size_t copy = votes.size();
  for (size_t i = votes.size(); i-- > 0;) {
    if (votes[static_cast<int>(i)].digest() == right) continue;
    if (!votes[static_cast<int>(i)].copied()) return i;
    if (copy == static_cast<size_t>(votes.size())) copy = i;
  }
  return copy;
}

}  // namespace

RangeJudgement JudgeRange(const RangeVotes& votes) {
  const std::map<uint64_t, size_t> counts = CountVotes(votes);
  RangeJudgement judgement;
  size_t most = 0;
  size_t with_most = 0;
  for (const auto& [digest, count] : counts) {
    if (count < most) continue;
    with_most = count > most ? 1 : with_most + 1;
    most = count;
    judgement.digest = digest;
  }
  if (counts.size() > 1 && (with_most > 1 || most < 2)) return {};
  judgement.expelled = ToExpel(votes, judgement.digest);
  judgement.kind = judgement.expelled == static_cast<size_t>(votes.size())
                       ? RangeJudgement::Kind::kAgreed
                       : RangeJudgement::Kind::kExpel;
  return judgement;
}

}  // namespace kamino::replica
