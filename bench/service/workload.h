// The operations that subjects execute: their order, and the objects of each.
#ifndef KAMINO_BENCH_SERVICE_WORKLOAD_H_
#define KAMINO_BENCH_SERVICE_WORKLOAD_H_

#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "bench/engine/distribution.h"

namespace kamino::bench::service {

enum class Kind {
  kGet,
  kPut,
  kInsert,  // of a new object
  kReadModifyWrite,
  kScan,
  kTransaction,  // kPutsOfTransaction puts, all or none
  kLoad,         // an insert of the next object of all
  kTpcc,         // a transaction of TPC-C's mix; see terminals.h
};

inline constexpr int kPutsOfTransaction = 10;
inline constexpr uint64_t kMostScanned = 100;  // objects of a scan, 1 at least

// The number of operations of each kind in 100.
struct Mix {
  struct Part {
    Kind kind;
    int percent;
  };

  const char* name;
  const char* about;
  std::vector<Part> parts;
  // Reads are of what was inserted last, rather than zipfian over all objects.
  bool latest = false;
  // A fixed order instead of chance: of `period` operations the first `writes`
  // are puts and the others reads. 0: by chance.
  int period = 0;
  int writes = 0;
  // All puts are of one and the same object.
  bool one_object = false;

  bool scans() const { return Has(Kind::kScan); }
  bool transacts() const { return Has(Kind::kTpcc); }

 private:
  bool Has(Kind kind) const;
};

const std::vector<Mix>& Mixes();
// nullptr: there is none of that name.
const Mix* FindMix(absl::string_view name);

// A subject's objects: those with numbers below `acknowledged`. Thread-safe.
class Population {
 public:
  explicit Population(uint64_t objects)
      : next_(objects), acknowledged_(objects) {}

  // The number of a new object, which is there after Inserted.
  uint64_t Reserve();
  void Inserted(uint64_t number);
  uint64_t acknowledged() const;

 private:
  mutable absl::Mutex mutex_;
  uint64_t next_ ABSL_GUARDED_BY(mutex_);
  uint64_t acknowledged_ ABSL_GUARDED_BY(mutex_);
  // Beyond acknowledged_, while others of lower numbers are under way.
  std::set<uint64_t> early_ ABSL_GUARDED_BY(mutex_);
};

struct Step {
  Kind kind;
  std::vector<uint64_t> numbers;  // of the objects; of a scan, the first one's
  uint64_t limit = 0;             // of a scan
};

// Thread-safe, but for `random`.
class Workload {
 public:
  // Operations of `mix` on the first `objects` of `population`, which outlives
  // this, as does `mix`.
  Workload(const Mix& mix, uint64_t objects, size_t value_size,
           Population* population)
      : mix_(mix),
        zipfian_(objects, kYcsbTheta),
        value_size_(value_size),
        population_(population) {}

  void Next(Random& random, Step* step) const;

  Population& population() const { return *population_; }
  size_t value_size() const { return value_size_; }

 private:
  Kind KindOfNext(Random& random) const;
  uint64_t Choose(Random& random) const;
  // One that is none of these, which are not all.
  uint64_t ChooseAnother(Random& random,
                         const std::vector<uint64_t>& but) const;

  const Mix& mix_;
  const Zipfian zipfian_;
  const size_t value_size_;
  Population* const population_;
  mutable std::atomic<uint64_t> begun_{0};  // of those in turns
};

// Keys are in the order of the numbers, 16 bytes each.
std::string KeyOf(uint64_t number);
// A value says whose it is in its first bytes.
inline constexpr size_t kLeastValue = 16;
std::string ValueOf(uint64_t number, size_t size);
// That `value` is of the object and has the size.
absl::Status CheckValue(absl::string_view value, uint64_t number, size_t size);

}  // namespace kamino::bench::service

#endif  // KAMINO_BENCH_SERVICE_WORKLOAD_H_
