// The nodes that were refused lately, for operators: a node that is refused
// ends, and its own log is seldom the first that somebody looks at.
#ifndef KAMINO_MEMBERSHIP_REFUSALS_H_
#define KAMINO_MEMBERSHIP_REFUSALS_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace kamino::membership {

struct Refusal {
  std::string why;  // printable; so is the node's id where it is kept
  absl::Time at;
};

// Not thread-safe.
class Refusals {
 public:
  static constexpr size_t kMost = 16;  // strangers may come under any name
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

#endif  // KAMINO_MEMBERSHIP_REFUSALS_H_
