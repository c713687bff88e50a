// Members of a view that stand in for a manager that cannot be reached, as
// while etcd is away: a node may answer by itself in its view while *all*
// others of the view vouch for it. Who vouches promises to act in no newer view
// until the vouch has run out. A newer view holds none of the chain's data but
// by a member of this one that acts in it: by then the vouches it gave are
// over, and with them whatever a node that was left out could answer.
//
// A vouch counts from when it was asked for at who holds it, and from when it
// was given at who gave it; the holder leaves a tenth of it for clocks that run
// at different rates. A process that begins does not know what the one before
// it gave, and waits as long as a vouch lasts.
//
// Nobody vouches while the manager answers it: whom the manager does not hear,
// it leaves out. Nor does one that has missed another member twice: nobody
// could hold the vouches of all, and they would only delay the next view.
#ifndef KAMINO_MEMBERSHIP_VOUCHING_H_
#define KAMINO_MEMBERSHIP_VOUCHING_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "kamino/internal/v1/membership.pb.h"
#include "membership/view.h"

namespace kamino::membership {

// Not thread-safe. `now` is monotonic, and of the moment of the call.
class Vouching {
 public:
  // `time`: how long a vouch of this node's lasts; the same in all lives.
  explicit Vouching(absl::Duration time) : time_(time) {}

  // Once, first. `was_member`: of any view, in an earlier life.
  void Begin(const Member& self, bool was_member, absl::Time now);
  // The view that this node acts in from now on.
  void SetView(const View& view);

  // --- What it gives.

  // OK: given, from now on; for as long as time() says.
  absl::Status Give(const kamino::internal::v1::VouchRequest& request,
                    bool manager_answers, absl::Time now);
  absl::Duration time() const { return time_; }
  // A newer view was heard of: no more vouches in this one.
  void Supersede() { superseded_ = true; }
  // Before that moment this node may not act in a newer view.
  absl::Time given_until() const { return given_until_; }

  // --- What it holds.

  struct Call {
    std::string node_id;  // whom to ask
    std::string address;
    absl::Time sent;
    kamino::internal::v1::VouchRequest request;
  };
  struct Answer {
    absl::Status status;
    kamino::internal::v1::VouchResponse response;  // where it is OK
  };
  // All others of the view; none where nobody could stand in. Each is asked
  // anew whether it has answered before or not: what a vouch is worth is
  // counted from when it was asked for, and nobody is to wait for the slowest.
  std::vector<Call> Next(absl::Time now) const;
  // Where all others of the view are.
  std::vector<std::string> Addresses() const;
  // In whatever order answers come. No vouch is believed to last longer than
  // one of this node's own.
  void OnAnswer(const Call& call, const Answer& answer);
  // Whether all others vouch for this node in that view.
  bool Holds(uint64_t view_id, absl::Time now) const;

 private:
  struct Other {
    std::string address;
    absl::Time holds_until = absl::InfinitePast();
    int missed = 0;  // questions in a row without an answer
  };

  const absl::Duration time_;
  Member self_;
  View view_;
  bool superseded_ = false;
  absl::Time given_until_ = absl::InfinitePast();
  std::map<std::string, Other> others_;  // by node id
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_VOUCHING_H_
