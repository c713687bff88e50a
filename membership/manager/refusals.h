// The recently refused nodes, for operators: a refused node ends, and operators
// seldom read its own log first.
#ifndef KAMINO_MEMBERSHIP_MANAGER_REFUSALS_H_
#define KAMINO_MEMBERSHIP_MANAGER_REFUSALS_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace kamino::membership {

struct Refusal {
  std::string why;  // printable, as is the stored node id
  absl::Time at;
};

// Not thread-safe.
class Refusals {
 public:
  static constexpr size_t kMost = 16;  // unknown peers may use any name
  static constexpr absl::Duration kKept = absl::Minutes(10);
  static constexpr size_t kMaxWhyBytes = 1024;

  // Keeps the latest ones.
  void Note(const std::string& node_id, const absl::Status& why,
            absl::Time now);
  void Forget(const std::string& node_id);
  void Clear() { refusals_.clear(); }

  // By node id.
  std::map<std::string, Refusal> Lately(absl::Time now) const;

 private:
  std::map<std::string, Refusal> refusals_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_REFUSALS_H_
