// Who is being left out of the chain because a member accuses it, and who was
// and is kept out for a while. Of one leadership: the next one begins anew.
#ifndef KAMINO_MEMBERSHIP_SUSPECTS_H_
#define KAMINO_MEMBERSHIP_SUSPECTS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "membership/next_view.h"
#include "membership/suspicion.h"
#include "membership/view.h"

namespace kamino::membership {

// Not thread-safe. `now` is monotonic.
class Suspects {
 public:
  explicit Suspects(absl::Duration failure_timeout)
      : failure_timeout_(failure_timeout) {}

  // Looks for somebody to leave out, by what is known now, or lets go of it. To
  // be called often while a view is in force and nobody is given time.
  void Look(const View& view, const KnownNodes& nodes, absl::Time now);
  // `member` of `view` has sent `report`. If it disputes an entry with the
  // head, the accusation is dropped: the dispute may have begun after it.
  void Heed(const View& view, const Member& member, const NodeReport& report);
  // Nobody is left out for now.
  void LetGo() { present_.reset(); }
  // The view `before` is followed by `after`. Who was left out so is kept out
  // for four failure timeouts, twice as long each time, if it comes soon again.
  void OnView(const View& before, const View& after, absl::Time now);

  // The member that is being left out.
  const std::optional<Suspicion>& present() const { return present_; }
  bool Is(const std::string& node_id) const {
    return present_.has_value() && present_->suspect == node_id;
  }
  // For how long it may not join yet.
  absl::Duration KeptOut(const std::string& node_id, absl::Time now) const;
  // Adds those who may not join yet.
  void AddKeptOut(absl::Time now, Exclusions* exclusions) const;

 private:
  struct Term {
    absl::Time until;
    absl::Duration lasts;
  };

  void KeepOut(const std::string& node_id, absl::Time now);

  absl::Duration failure_timeout_;
  std::optional<Suspicion> present_;
  // Those that came to something lately, the last one last. One that did not
  // says nothing of its accuser.
  std::vector<Suspicion> lately_;
  absl::Time last_accused_ = absl::InfinitePast();
  std::map<std::string, Term> kept_out_;  // by node id; some of them over
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_SUSPECTS_H_
