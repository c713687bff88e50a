// The decisions of what the chain is to be next, as pure functions.
#ifndef KAMINO_MEMBERSHIP_NEXT_VIEW_H_
#define KAMINO_MEMBERSHIP_NEXT_VIEW_H_

#include <map>
#include <optional>
#include <string>

#include "membership/node_report.h"
#include "membership/view.h"

namespace kamino::membership {

// What is known of a node at a moment.
struct KnownNode {
  Member member;
  // Heard of recently enough to hold a lease, and it has not surrendered it.
  bool alive = false;
  NodeReport report;  // its last
  // A member: what its heap was known to have applied, as it said earlier.
  uint64_t held = 0;
  // A member that was restarted: what it must have applied by the word of the
  // managers' store (membership/progress.h).
  uint64_t must_hold = 0;
  // A member that came back on an old copy was turned away, and its former self
  // was not heard since.
  bool turned_away = false;

  // It has surrendered its lease: nobody need wait until that has run out.
  bool surrendered() const { return report.stopping == Stopping::kSurrendered; }
};

using KnownNodes = std::map<std::string, KnownNode>;  // by node id
using Exclusions = std::map<std::string, bool>;       // as View::excluded

// Whether the member runs on its data and holds all that was acknowledged, but
// perhaps for a mutation that a crash interrupted.
bool RunsWithAll(const Member& member, const KnownNodes& nodes);

// What a member holds, and what it must, as it once acknowledged it.
struct Shortfall {
  uint64_t holds = 0;
  uint64_t needs = 0;
  // The node, perhaps itself, whose word it is; "": the managers' store.
  std::string known_by;
};

// Whether the node of a member of `view` is on an old copy of its data: one
// that was restarted since, or that finds itself outrun, and holds less than
// what the whole chain has applied by the word of the store or of another
// member, than what a member after it has received, or than what it has said
// itself. Only the words of this view and of earlier ones may be in `nodes`, so
// that what they say was true of the member before it was away.
std::optional<Shortfall> ShortfallOf(const View& view, const KnownNodes& nodes,
                                     const std::string& node_id);

// The view that should follow `view`, or nothing when it should stay.
//
//   - Without a view: the first one, as soon as `chain_length` fresh nodes with
//     heaps of one size are alive; the lowest node ids, in their order.
//   - With one: the members that are alive, in the same order. One that was
//     restarted on the same heap keeps its place, under its new incarnation
//     (Kamino-Tx, section 5.3); one that holds nothing of use, or an old copy,
//     does not. Nor does one that is behind where nobody who is not stays
//     before it: it would be head.
//   - Members are left out only when CanGoOn.
//   - When all members stay as they are, are sound and fewer than
//     `chain_length`, one that has caught up in this view becomes the tail.
//   - Who is in `excluded` does not join, and another one may in its place.
//   - A member that has surrendered its lease is left out, and away from then
//     on: its place is kept for it. But not where fewer than LeastMembers, or
//     none that can go on, would be left: then nobody is left out, it is away
//     in its place, and is waited for like everybody.
//   - Places of nodes that are away (View::away) nobody else takes. Who is not
//     to be waited for any longer is not in `view`'s.
//
// The new view's id is one higher.
std::optional<View> NextView(const View& view, const KnownNodes& nodes,
                             size_t chain_length,
                             const Exclusions& excluded = {});

// Whether `next`, as NextView has it, leaves out nobody but members that have
// surrendered their leases, and has no other processes: so that there is
// nothing to wait for before it.
bool IsHandover(const View& view, const View& next, const KnownNodes& nodes);

// What a member that asks for the chain to go on without it is told. All who
// ask count as gone, and of those who are left all have to be sound.
Parting PartingOf(const View& view, const KnownNodes& nodes,
                  const Exclusions& excluded = {});

// How many more fresh nodes the first view takes; 0 once there is a view.
size_t NodesMissing(const View& view, const KnownNodes& nodes,
                    size_t chain_length, const Exclusions& excluded);

// Whether the members of `view` that are alive hold all that the chain has
// acknowledged, and can mend what is torn: one of them is sound and was never
// away, or has met its neighbours since; or there are two, and one of them
// holds everything, be it torn (section 5.3, last paragraph); or all others are
// back without what they held; or it is the only member. Where nodes mend what
// is interrupted by themselves (MendsAlone) one that holds everything is
// enough, unless it came back and was not borne out, and one lives that is to
// be removed and could do that. Those to be removed do not count, nor does one
// whose node came back on an old copy, though its former self may hold a lease
// yet.
bool CanGoOn(const View& view, const KnownNodes& nodes,
             const Exclusions& excluded = {});

// Whether an operator's wish that this member leaves can be heeded now. It is
// left out once it is silent, as it may hold a lease: so from here on its
// manager does not hear it.
bool ShouldLeave(const View& view, const KnownNodes& nodes, size_t chain_length,
                 const Exclusions& excluded, const std::string& node_id);

// Who should get the chain's state next, to join a chain that is short of
// nodes: `current` as long as it can, else the lowest id; "" for nobody.
std::string NextToJoin(const View& view, const KnownNodes& nodes,
                       size_t chain_length, const std::string& current,
                       const Exclusions& excluded = {});

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_NEXT_VIEW_H_
