// The subject of a race: a store of objects behind sockets, and the operations
// that it executes.
#ifndef KAMINO_BENCH_SERVICE_SUBJECT_H_
#define KAMINO_BENCH_SERVICE_SUBJECT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace kamino::bench::service {

// For how long a call may last. What lasts longer is an error.
inline constexpr absl::Duration kCallTimeout = absl::Seconds(10);

struct Object {
  std::string key;
  std::string value;
};

// `value`: what a Get has found, good until it returns; else empty.
using Done =
    std::function<void(const absl::Status& status, absl::string_view value)>;
// The objects within a transaction; as client/transaction.h has them.
class Objects {
 public:
  virtual ~Objects() = default;
  virtual absl::StatusOr<std::optional<std::string>> Get(
      absl::string_view key) = 0;
  virtual void Expect(absl::Span<const std::string> keys) = 0;
  virtual absl::Status Scan(
      absl::string_view start, absl::string_view end,
      absl::FunctionRef<bool(absl::string_view key, absl::string_view value)>
          visit) = 0;
  virtual void Put(absl::string_view key, absl::string_view value) = 0;
  virtual absl::Status Patch(absl::string_view key, uint64_t offset,
                             absl::string_view data) = 0;
  virtual void Delete(absl::string_view key) = 0;
};

using Scanned = std::function<void(const absl::Status& status, size_t objects)>;

// Thread-safe. A call may be put off until Flush, unless a callback makes it.
// Each ends by calling `done` once, on some thread of the
// subject's (or, for an error, before the call returns), which may make calls.
// A mutation is answered when it is as durable as the subject says it is.
class Subject {
 public:
  // Waits for nothing: all calls have ended.
  virtual ~Subject() = default;

  virtual const std::string& name() const = 0;

  virtual void Put(const Object& object, Done done) = 0;
  // kNotFound: it is not there.
  virtual void Get(const std::string& key, Done done) = 0;
  // All or none of them.
  virtual void PutAll(const std::vector<Object>& objects, Done done) = 0;

  // Whether Scan can be called: the first `limit` objects from `key` on, in the
  // order of their keys.
  virtual bool scans() const { return false; }
  virtual void Scan(const std::string& key, size_t limit, Scanned done);

  // Whether Transact can be called: runs `body` and commits what it has done,
  // again from the start when something it had read has changed. Waits for it.
  // An error of `body` ends it without effect.
  virtual bool transacts() const { return false; }
  virtual absl::Status Transact(
      absl::FunctionRef<absl::Status(Objects& objects)> body);

  // Sends what is put off: one that comes late with many makes them, and then
  // one Flush.
  virtual void Flush() {}

  // Periodic maintenance, between measurements.
  virtual absl::Status TidyUp() { return absl::OkStatus(); }
};

inline void Subject::Scan(const std::string&, size_t, Scanned done) {
  done(absl::UnimplementedError("no scans"), 0);
}

inline absl::Status Subject::Transact(
    absl::FunctionRef<absl::Status(Objects& objects)>) {
  return absl::UnimplementedError("no transactions");
}

}  // namespace kamino::bench::service

#endif  // KAMINO_BENCH_SERVICE_SUBJECT_H_
