// What is raced: a store of objects that is spoken to over sockets, and what it
// is asked to do.
#ifndef KAMINO_BENCH_SERVICE_SUBJECT_H_
#define KAMINO_BENCH_SERVICE_SUBJECT_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

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

  // Sends what is put off: one that comes late with many makes them, and then
  // one Flush.
  virtual void Flush() {}

  // What it has to do now and then, between measurements.
  virtual absl::Status TidyUp() { return absl::OkStatus(); }
};

inline void Subject::Scan(const std::string&, size_t, Scanned done) {
  done(absl::UnimplementedError("no scans"), 0);
}

}  // namespace kamino::bench::service

#endif  // KAMINO_BENCH_SERVICE_SUBJECT_H_
