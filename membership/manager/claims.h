// Checks what a node reports about itself. Most of it counts for other nodes as
// well: the chain's progress, the newest view. A manager therefore refuses
// impossible reports, for example of a node with damaged memory or of another
// cluster, and they change nothing. It cannot detect a report that is possible
// but untrue; docs/design/fault_model.md describes the consequences.
#ifndef KAMINO_MEMBERSHIP_MANAGER_CLAIMS_H_
#define KAMINO_MEMBERSHIP_MANAGER_CLAIMS_H_

#include <cstdint>
#include <string>

#include "membership/node_report.h"
#include "membership/view.h"

namespace kamino::membership {

// No chain gets so far: it takes 228 years at ten million mutations a second.
inline constexpr uint64_t kNeverReached = uint64_t{1} << 56;
// Limit of views, and of starts of a process, beyond the known ones: 13 years
// at ten a second.
inline constexpr uint64_t kMostUnheardOf = uint64_t{1} << 32;
// An operator makes each epoch by hand.
inline constexpr uint64_t kMostEpochsUnheardOf = uint64_t{1} << 16;

// Names the first number in the report that is impossible beside the stored
// view, as "it says that ..."; "": none.
std::string Absurd(const NodeReport& report, const View& stored);
// The same for the incarnation of a node that was known under `known` with the
// same heap. The first incarnation of a heap may be any number.
std::string AbsurdIncarnation(uint64_t incarnation, uint64_t known);

// Whether the view belongs to the cluster of `stored` and is intact: its digest
// matches its content.
bool IsWhole(const View& view, const View& stored);

// For a node that reports a later view than `stored`, or another view with its
// id: the evidence that is missing; "": none. `newest` is the newest view that
// its process has received; id 0: none. For views from before its start, the
// node's cluster is the evidence.
std::string Unshown(const NodeReport& report, const View& newest,
                    const View& stored);

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_CLAIMS_H_
