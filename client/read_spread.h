// Chooses the node for a read that any replica may answer: all nodes in turn
// except the head, which has the most work. While many objects are in flight,
// the tail answers all reads. Silent nodes are skipped. Private to the library.
#ifndef KAMINO_CLIENT_READ_SPREAD_H_
#define KAMINO_CLIENT_READ_SPREAD_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace kamino::client {

// Thread-safe.
class ReadSpread {
 public:
  // The number of answers in a sample. If at least half of them are not clean,
  // the tail answers all reads for a while, twice as long after each further
  // such sample, up to the longest rest.
  static constexpr int kAnswers = 32;
  static constexpr absl::Duration kRest = absl::Milliseconds(500);
  static constexpr absl::Duration kLongestRest = absl::Seconds(8);
  // How long a node is skipped after it did not answer.
  static constexpr absl::Duration kAvoid = absl::Seconds(1);

  struct Place {
    std::string address;
    bool is_tail = false;
  };
  // The place of the given turn, in the known chain.
  using PlaceAt = absl::FunctionRef<Place(uint64_t turn)>;

  // The node of the next read; "": the tail, whose result is not reported.
  std::string Next(PlaceAt place_at, absl::Time now);

  // The result of a read at a replica.
  enum class Result {
    kAnswered,
    kNotClean,
    kFailed,  // no answer, or not a replica's
  };
  void OnResult(const std::string& address, Result result, absl::Time now);

  struct Stats {
    uint64_t answered = 0;
    uint64_t not_clean = 0;
    uint64_t failed = 0;
  };
  Stats stats() const;

 private:
  // Failed replicas before the tail is asked.
  static constexpr int kTries = 3;
  static constexpr size_t kMaxAvoided = 64;

  mutable absl::Mutex mutex_;
  uint64_t turn_ ABSL_GUARDED_BY(mutex_) = 0;
  int answers_ ABSL_GUARDED_BY(mutex_) = 0;  // in this sample
  int not_clean_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time rests_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Duration rest_ ABSL_GUARDED_BY(mutex_) = kRest;  // the next one
  std::map<std::string, absl::Time> avoided_until_ ABSL_GUARDED_BY(mutex_);
  Stats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_READ_SPREAD_H_
