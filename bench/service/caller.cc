#include "bench/service/caller.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"

namespace kamino::bench::service {

Nanos NowNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void Caller::Prepare() {
  workload_->Next(random_, &step_);
  objects_.resize(step_.numbers.size());
  for (size_t i = 0; i < objects_.size(); ++i) {
    objects_[i].key = KeyOf(step_.numbers[i]);
    if (writes()) {
      objects_[i].value = ValueOf(step_.numbers[i], workload_->value_size());
    }
  }
}

void Caller::Begin(End end) {
  end_ = std::move(end);
  switch (step_.kind) {
    case Kind::kGet:
    case Kind::kReadModifyWrite:
      return Get();
    case Kind::kPut:
    case Kind::kInsert:
    case Kind::kLoad:
      return Put();
    case Kind::kTransaction:
      return PutAll();
    case Kind::kScan:
      return Scan();
    case Kind::kTpcc:
      // Terminals do, which wait.
      end_(absl::InternalError("a caller does not wait"), NowNanos());
  }
}

void Caller::Get() {
  subject_->Get(objects_[0].key, [this](const absl::Status& status,
                                        absl::string_view value) {
    const Nanos at = NowNanos();
    const absl::Status checked =
        status.ok()
            ? CheckValue(value, step_.numbers[0], workload_->value_size())
            : status;
    if (checked.ok() && step_.kind == Kind::kReadModifyWrite) return Put();
    Finish(checked, at);
  });
}

void Caller::Put() {
  subject_->Put(objects_[0],
                [this](const absl::Status& status, absl::string_view) {
                  const Nanos at = NowNanos();
                  if (status.ok() && inserts()) {
                    workload_->population().Inserted(step_.numbers[0]);
                  }
                  Finish(status, at);
                });
}

void Caller::PutAll() {
  subject_->PutAll(objects_,
                   [this](const absl::Status& status, absl::string_view) {
                     Finish(status, NowNanos());
                   });
}

void Caller::Scan() {
  population_ = workload_->population().acknowledged();
  subject_->Scan(
      objects_[0].key, step_.limit,
      [this](const absl::Status& status, size_t objects) {
        const Nanos at = NowNanos();
        // Others may be inserting.
        const uint64_t least =
            std::min(step_.limit, population_ - step_.numbers[0]);
        if (status.ok() && (objects < least || objects > step_.limit)) {
          return Finish(absl::DataLossError(absl::StrCat(
                            "a scan of ", step_.limit, " objects has found ",
                            objects, " instead of ", least)),
                        at);
        }
        Finish(status, at);
      });
}

void Caller::Finish(const absl::Status& status, Nanos at) {
  // It may begin the next one, which sets end_.
  const End end = std::move(end_);
  end(status, at);
}

}  // namespace kamino::bench::service
