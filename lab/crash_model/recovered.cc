#include "lab/crash_model/recovered.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "engine/heap/heap.h"
#include "lab/archapt/archapt_store.h"

namespace kamino::bench::crash_model {
namespace {

using engine::ArchaptStore;
using engine::Heap;
using engine::ObjectId;

using Hashes = absl::flat_hash_map<ObjectId, uint64_t>;

Hashes HashesIn(const engine::Region& image, const Oracle& oracle) {
  Hashes hashes;
  for (const Oracle::Place& place : oracle.Places()) {
    hashes[place.id] = HashOf({image.base() + place.id, place.bytes});
  }
  return hashes;
}

// Reads every object, in transactions of some.
class Comparison {
 public:
  Comparison(ArchaptStore* store, const Hashes& before)
      : store_(*store), before_(before) {
    for (ObjectId id : store->recovery_report().lost_objects)
      reported_.insert(id);
    counts_.repaired_lines = store->recovery_report().repaired_lines;
  }

  absl::StatusOr<CrashCounts> Run(const std::vector<ExpectedObject>& expected) {
    constexpr size_t kAtOnce = 32;
    for (size_t next = 0; next < expected.size(); next += kAtOnce) {
      const auto transaction = store_.Begin(absl::ZeroDuration());
      const size_t end = std::min(next + kAtOnce, expected.size());
      for (size_t i = next; i < end; ++i) Compare(*transaction, expected[i]);
      RETURN_IF_ERROR(transaction->Abort());
    }
    // The objects that remain are reported as lost and were not expected.
    counts_.wrong += reported_.size();
    return counts_;
  }

 private:
  void Compare(engine::Reader& reader, const ExpectedObject& expected) {
    const bool inconsistent =
        expected.settled && before_.at(expected.id) != expected.hash;
    if (inconsistent) ++counts_.inconsistent;
    const auto bytes = reader.Read(expected.id);
    const bool reported = reported_.erase(expected.id) > 0;
    if (reported && absl::IsDataLoss(bytes.status())) {
      ++counts_.lost;
      if (inconsistent) {
        ++counts_.found;
      } else {
        ++counts_.lost_needlessly;
      }
      return;
    }
    const bool right = !reported && bytes.ok() &&
                       bytes->size() == expected.bytes &&
                       HashOf(*bytes) == expected.hash;
    if (!right) {
      ++counts_.wrong;
    } else if (inconsistent) {
      ++counts_.found;
      ++counts_.repaired;
    }
  }

  ArchaptStore& store_;
  const Hashes& before_;
  absl::flat_hash_set<ObjectId> reported_;
  CrashCounts counts_;
};

}  // namespace

CrashCounts& CrashCounts::operator+=(const CrashCounts& other) {
  inconsistent += other.inconsistent;
  found += other.found;
  repaired += other.repaired;
  lost += other.lost;
  lost_needlessly += other.lost_needlessly;
  wrong += other.wrong;
  repaired_lines += other.repaired_lines;
  return *this;
}

absl::StatusOr<CrashCounts> Recover(engine::Region* image,
                                    const engine::ArchaptOptions& options,
                                    const Crashed& crashed) {
  const Hashes before = HashesIn(*image, *crashed.oracle);
  ASSIGN_OR_RETURN(const auto heap, Heap::Open(image));
  ASSIGN_OR_RETURN(const auto store, ArchaptStore::Open(options, heap.get()));
  const uint64_t last = store->recovery_report().last_sequence;
  if (last < crashed.durable || last > crashed.last) {
    return absl::InternalError(absl::StrCat(
        "recovery found transactions up to ", last, ", where those up to ",
        crashed.durable, " were durable, of ", crashed.last));
  }
  const std::vector<ExpectedObject> expected = crashed.oracle->AsOf(last);
  if (heap->stats().objects != expected.size()) {
    return absl::InternalError(absl::StrCat("recovery found ",
                                            heap->stats().objects,
                                            " objects of ", expected.size()));
  }
  return Comparison(store.get(), before).Run(expected);
}

}  // namespace kamino::bench::crash_model
