// The member that is being expelled, and the expelled nodes that are kept out
// for a while. Each leadership begins anew.
#ifndef KAMINO_MEMBERSHIP_MANAGER_SUSPECTS_H_
#define KAMINO_MEMBERSHIP_MANAGER_SUSPECTS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "membership/manager/next_view.h"
#include "membership/manager/suspicion.h"
#include "membership/view.h"

namespace kamino::membership {

// Not thread-safe. `now` is monotonic.
class Suspects {
 public:
  explicit Suspects(absl::Duration failure_timeout)
      : failure_timeout_(failure_timeout) {}

  // Looks for a member to expel, or drops the suspicion. Call it often while a
  // view is in force and no hold-up is known.
  void Look(const View& view, const KnownNodes& nodes, absl::Time now);
  // `member` of `view` has sent `report`. If its result diverges from the
  // head's, the suspicion is dropped: the divergence may have begun after it.
  void Heed(const View& view, const Member& member, const NodeReport& report);
  // Drops the suspicion.
  void LetGo() { present_.reset(); }
  // `after` follows the view `before`. Keeps an expelled member out for four
  // failure timeouts, and for twice as long each time it is expelled again
  // soon.
  void OnView(const View& before, const View& after, absl::Time now);

  // The member that is being expelled.
  const std::optional<Suspicion>& present() const { return present_; }
  bool Is(const std::string& node_id) const {
    return present_.has_value() && present_->suspect == node_id;
  }
  // How much longer the node may not join.
  absl::Duration KeptOut(const std::string& node_id, absl::Time now) const;
  // Adds the nodes that may not join yet.
  void AddKeptOut(absl::Time now, Exclusions* exclusions) const;

 private:
  struct Term {
    absl::Time until;
    absl::Duration lasts;
  };

  void KeepOut(const std::string& node_id, absl::Time now);

  absl::Duration failure_timeout_;
  std::optional<Suspicion> present_;
  // Suspicions that led to an expulsion recently, in order. Other suspicions do
  // not count against their reporters.
  std::vector<Suspicion> lately_;
  absl::Time last_expulsion_ = absl::InfinitePast();
  std::map<std::string, Term> kept_out_;  // by node id; some have expired
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_SUSPECTS_H_
