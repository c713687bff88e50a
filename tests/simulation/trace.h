// The events of a run, for people to read, and a digest by which two runs can
// be told apart.
#ifndef KAMINO_TESTS_SIMULATION_TRACE_H_
#define KAMINO_TESTS_SIMULATION_TRACE_H_

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"

namespace kamino::simulation {

class Trace {
 public:
  // Lines go to `out`; null: only the digest is kept.
  explicit Trace(std::FILE* out) : out_(out) {}

  bool on() const { return out_ != nullptr; }

  // `who` did something; the parts are put together only if the trace is
  // written.
  template <typename... Parts>
  void Line(absl::Time now, const std::string& who, const Parts&... parts) {
    if (on()) Print(now, who, absl::StrCat(parts...));
  }

  // Mixes a value into the digest: cheap, for every important event.
  void Mix(uint64_t value) {
    digest_ = (digest_ ^ value) * 0x100000001b3ull;
    digest_ ^= digest_ >> 29;
  }
  uint64_t digest() const { return digest_; }

 private:
  void Print(absl::Time now, const std::string& who, const std::string& what) {
    absl::FPrintF(out_, "%10.6f %-5s %s\n",
                  absl::ToDoubleSeconds(now - absl::UnixEpoch()), who, what);
  }

  std::FILE* const out_;
  uint64_t digest_ = 0xcbf29ce484222325ull;
};

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_TRACE_H_
