// Decides which members hold correct data when their digests differ.
//
// Votes for a digest count by origin: copies that were made from each other and
// that no other member has confirmed since are one vote. The digest that the
// members agreed on before, if nothing was written since, is a vote of its own.
// A digest with two votes or more, and more than any other, is right. The
// members that differ from it are wrong: one of them is expelled, and the
// others are compared again without it.
//
//   the head  the second  the third         agreed before  then
//   a         a           a                 not known, a   kAgreed
//   a         a           b                 not known, a   the third
//   a         b           b                 not known, b   the head
//   a         b, a copy   b, made of that   not known      kUndecided
//                         or the reverse
//   a         b, a copy   b                 a              the third
//   a         b           b                 a              kUndecided
//   a         b           c                 not known      kUndecided
//   a         b           c                 a              the third
//   a         b                             not known      kUndecided
//   a         b                             b              the head
//   a         a, a copy                     b              kUndecided
#ifndef KAMINO_REPLICA_INTEGRITY_RANGE_VOTES_H_
#define KAMINO_REPLICA_INTEGRITY_RANGE_VOTES_H_

#include <cstddef>
#include <cstdint>

#include "kamino/internal/v1/chain.pb.h"

namespace kamino::replica {

using RangeVotes =
    google::protobuf::RepeatedPtrField<kamino::internal::v1::RangeVote>;

struct RangeJudgement {
  enum class Kind {
    kAgreed,     // nothing is wrong
    kExpel,      // one member must leave
    kUndecided,  // it cannot be decided which is right
  };
  Kind kind = Kind::kUndecided;
  uint64_t digest = 0;  // the right one, unless kUndecided
  size_t expelled = 0;  // the place of that member among the votes
};

// `votes`: at least one, in the order of the chain.
RangeJudgement JudgeRange(const RangeVotes& votes);

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_INTEGRITY_RANGE_VOTES_H_
