// Which node reads go to that any replica may answer: one after the other, but
// the head, which has most to do. To the tail for a while where most is being
// changed, and past those that do not answer. Private to the library.
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
  // Of so many answers, when as many are not clean as are, the tail answers
  // all reads for a rest; for twice as long, up to the longest one, if it is
  // still so with the next answers.
  static constexpr int kAnswers = 32;
  static constexpr absl::Duration kRest = absl::Milliseconds(500);
  static constexpr absl::Duration kLongestRest = absl::Seconds(8);
  // A node that did not answer is not asked for so long.
  static constexpr absl::Duration kAvoid = absl::Seconds(1);

  struct Place {
    std::string address;
    bool is_tail = false;
  };
  // The place of turn number `turn`, in the chain as it is known.
  using PlaceAt = absl::FunctionRef<Place(uint64_t turn)>;

  // Where the next read goes; "": to the tail, whose answer is not told of.
  std::string Next(PlaceAt place_at, absl::Time now);

  // What came of it, where it was a node's.
  enum class Result {
    kAnswered,
    kNotClean,
    kFailed,  // it did not answer, or not as a replica does
  };
  void OnResult(const std::string& address, Result result, absl::Time now);

  struct Stats {
    uint64_t answered = 0;
    uint64_t not_clean = 0;
    uint64_t failed = 0;
  };
  Stats stats() const;

 private:
  // Nodes that are asked in vain before the tail is.
  static constexpr int kTries = 3;
  static constexpr size_t kMaxAvoided = 64;

  mutable absl::Mutex mutex_;
  uint64_t turn_ ABSL_GUARDED_BY(mutex_) = 0;
  int answers_ ABSL_GUARDED_BY(mutex_) = 0;  // since they were last weighed
  int not_clean_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time rests_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Duration rest_ ABSL_GUARDED_BY(mutex_) = kRest;  // the next one
  std::map<std::string, absl::Time> avoided_until_ ABSL_GUARDED_BY(mutex_);
  Stats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_READ_SPREAD_H_
