// A transaction of the workload: makes random calls on random objects, stores
// through the returned pointers at any later time, and computes by itself the
// expected content of every object.
#ifndef KAMINO_TESTS_ENGINE_CRASH_SESSION_H_
#define KAMINO_TESTS_ENGINE_CRASH_SESSION_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/engine/crash/rig.h"
#include "tests/engine/crash/world.h"

namespace kamino::engine::crash {

class Session {
 public:
  // Mostly works in directory `home`. `*world` is always the state after all
  // committed transactions. `stored` is called between stores that are not
  // flushed yet. All must outlive the session. A brief session seldom meets
  // others. A null world: any store, perhaps damaged; Changes is of no use
  // then.
  Session(Rig* rig, uint32_t home, const WorldPointer* world,
          std::mt19937_64* random, std::function<void()> stored,
          bool brief = false);

  // One step: some calls on an object, a new object, a free, a key more or
  // less, ... Not OK: the transaction can only be aborted; Expected tells
  // whether that may happen.
  absl::Status DoSomething();

  // Perhaps some stores through pointers that earlier calls returned.
  void StoreLater();

  // Whether a correct store may return this: a conflict or something full.
  bool Expected(const absl::Status& status) const;

  // All changes of this transaction, which is still live.
  absl::StatusOr<Change> Changes();

  Transaction& transaction() { return *transaction_; }
  // The last step, for an account.
  const std::string& what() const { return what_; }

 private:
  uint64_t Random(uint64_t bound) { return (*random_)() % bound; }
  uint32_t RandomSize();
  std::string RandomBytes(size_t size);

  // A range that Write returned.
  struct Place {
    ObjectId id;
    uint32_t offset;
    uint32_t length;
    std::byte* bytes;
  };
  struct Part {
    uint32_t offset;
    uint32_t length;
  };

  // Without a world, the first read of an object tells its content.
  absl::Status LookAt(ObjectId id);
  // The content of the object, as this transaction sees it.
  const std::string& Seen(ObjectId id) const;
  std::string& Mine(ObjectId id);
  Part RandomPart(ObjectId id);

  // Expects writes to the directory and some of its objects, from slot `first`
  // on. Always for the same directories.
  absl::Status ExpectWrites(ObjectId directory, uint32_t number,
                            uint32_t first);

  // One call on the object.
  absl::Status Touch(ObjectId id);
  absl::Status ReadBack(ObjectId id);
  absl::Status WriteByPointer(ObjectId id, const Part& part, bool at_once);
  absl::Status WriteBytes(ObjectId id, uint32_t offset,
                          const std::string& bytes);
  void Store(const Place& place, const Part& part, const std::string& bytes);

  // Changes objects of a directory so that sums of lines stay the same.
  absl::Status CancelOut(ObjectId directory, ObjectId id);
  absl::Status Transfer(ObjectId from, ObjectId to);
  absl::Status RotateLines(ObjectId id);

  absl::StatusOr<ObjectId> Make();
  absl::Status Replace(ObjectId directory, uint32_t slot, ObjectId old);
  absl::Status TreeOperation();

  Rig* const rig_;
  const uint32_t home_;
  const WorldPointer* const world_;
  std::mt19937_64* const random_;
  const std::function<void()> stored_;
  const bool brief_;
  std::unique_ptr<Transaction> transaction_;
  std::map<ObjectId, std::string> mine_;  // written or made, but for the tree's
  std::set<ObjectId> freed_;
  std::vector<Place> places_;
  std::map<ObjectId, Part> last_part_;
  std::map<std::string, std::optional<std::string>> tree_changes_;
  std::string what_;
  int pointers_ = 0;  // asked for
};

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_SESSION_H_
