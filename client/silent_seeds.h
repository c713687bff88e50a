// The seeds that have not answered yet. The client asks them in the background
// until each one has answered once, because a late answer of another cluster's
// seed is an error as well (client/seed_answers.h). Private to the library.
#ifndef KAMINO_CLIENT_SILENT_SEEDS_H_
#define KAMINO_CLIENT_SILENT_SEEDS_H_

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace kamino::client {

// Thread-safe.
class SilentSeeds {
 public:
  // The first pause between two passes over the silent seeds. It doubles after
  // each pass in which a seed was asked.
  static constexpr absl::Duration kFirstPause = absl::Seconds(1);
  static constexpr absl::Duration kMaxPause = absl::Seconds(30);
  // A seed that first answers later than that after Start is no longer
  // compared: another cluster may use its address by then.
  static constexpr absl::Duration kCompared = absl::Minutes(10);

  struct Options {
    std::function<absl::Time()> clock;
    // Runs `task` after `delay`, on any thread but not within the call. May run
    // it early. Null: no seed is asked.
    std::function<void(absl::Duration delay, std::function<void()> task)> after;
    // Sends a question to a seed without waiting. False: the seed may not be
    // asked now.
    std::function<bool(const std::string& address)> ask;
  };

  SilentSeeds(const std::vector<std::string>& seeds, Options options)
      : options_(std::move(options)), silent_(seeds.begin(), seeds.end()) {}

  // Begins to ask; only the first call has an effect.
  void Start();
  // Stops asking. Call it before the timer behind `after` ends, because the
  // timer may hold a task of this object.
  void Stop();

  // The seed at `address` has answered. Other addresses are ignored.
  void Heard(const std::string& address);
  // Whether the seed at `address` has not answered, and is still compared.
  bool Compares(const std::string& address) const;

 private:
  void AskAt(absl::Time time, absl::Duration pause);
  void OnTime(absl::Time time, absl::Duration pause);

  const Options options_;

  mutable absl::Mutex mutex_;
  std::set<std::string> silent_ ABSL_GUARDED_BY(mutex_);
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time compared_until_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_SILENT_SEEDS_H_
