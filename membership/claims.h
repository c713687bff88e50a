// What can be believed of what a node says of itself. Most of it counts for
// others, too: how far the chain has come, which view there is. So what cannot
// be, as of a node whose memory is damaged, or of one that is of another
// cluster, is refused, and changes nothing. What can be, but is not, is not
// told from the truth here; docs/design/fault_model.md says what holds then.
#ifndef KAMINO_MEMBERSHIP_CLAIMS_H_
#define KAMINO_MEMBERSHIP_CLAIMS_H_

#include <cstdint>
#include <string>

#include "membership/node_report.h"
#include "membership/view.h"

namespace kamino::membership {

// No chain comes so far: at ten million mutations a second in 228 years.
inline constexpr uint64_t kNeverReached = uint64_t{1} << 56;
// Views, and starts of a process, that nobody has heard of: at ten a second in
// 13 years.
inline constexpr uint64_t kMostUnheardOf = uint64_t{1} << 32;
// An operator makes each by hand.
inline constexpr uint64_t kMostEpochsUnheardOf = uint64_t{1} << 16;

// Which of a node's numbers cannot be, beside the view that is stored, as "it
// says that ..."; "": none.
std::string Absurd(const NodeReport& report, const View& stored);
// Likewise of the incarnation of a node that was known, on the same heap, under
// `known`. The first one of a heap is any number.
std::string AbsurdIncarnation(uint64_t incarnation, uint64_t known);

// Whether it is a view of the cluster that `stored` is of, whole as it was
// stored: its digest is that of what it says.
bool IsWhole(const View& view, const View& stored);

// Of a node that says it knows a later view than `stored`, or another one of
// that id: what it does not show of it; "": it shows what it can. `newest` is
// the newest view that its process was given; id 0: none. What a node knows
// from before its start it shows by the cluster that this was in.
std::string Unshown(const NodeReport& report, const View& newest,
                    const View& stored);

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_CLAIMS_H_
