// A transaction of the workload: does things by chance and knows what the world
// is after it.
#ifndef KAMINO_TESTS_ENGINE_CRASH_SESSION_H_
#define KAMINO_TESTS_ENGINE_CRASH_SESSION_H_

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "tests/engine/crash/rig.h"
#include "tests/engine/crash/world.h"

namespace kamino::engine::crash {

class Session {
 public:
  // Works in directory `home` mostly. `stored` is called between stores that
  // nobody has flushed yet. All must outlive the session.
  Session(Rig* rig, uint32_t home, std::mt19937_64* random,
          std::function<void()> stored);

  // One thing: overwrite, patch, allocate, free, put, delete, ... Not OK: the
  // transaction can only be aborted; Expected tells whether that may happen.
  absl::Status DoSomething();

  // Whether a correct store may return this: a conflict or something full.
  bool Expected(const absl::Status& status) const;

  // `before` with all that this transaction did; it is still live.
  absl::StatusOr<World> Outcome(const World& before);

  Transaction& transaction() { return *transaction_; }
  // The last thing, for an account.
  const std::string& what() const { return what_; }

 private:
  uint64_t Random(uint64_t bound) { return (*random_)() % bound; }
  uint32_t RandomSize();
  std::string RandomBytes(size_t size);

  absl::Status Change(ObjectId id);
  absl::Status Replace(ObjectId directory, uint32_t slot, ObjectId old);
  absl::Status TreeOperation();

  Rig* const rig_;
  const uint32_t home_;
  std::mt19937_64* const random_;
  const std::function<void()> stored_;
  std::unique_ptr<Transaction> transaction_;
  std::map<std::string, absl::optional<std::string>> tree_changes_;
  std::string what_;
};

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_SESSION_H_
