// Who takes on a changed configuration while the program runs (SIGHUP).
#ifndef KAMINO_CONFIG_RELOAD_H_
#define KAMINO_CONFIG_RELOAD_H_

#include <functional>
#include <list>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace kamino::config {

struct Reloader {
  std::string what;  // as the log names it: "roles"
  // Flags whose new values it takes. None: what it reads anew is in a file that
  // a flag names.
  std::set<std::string> flags;
  // Called on the thread that waits for signals, once the flags have their new
  // values, at each SIGHUP. An error leaves its old state in force, as if it
  // had not been called; its flags are set back.
  std::function<absl::Status()> reload;
};

// Thread-safe.
class Reloads {
 public:
  // No call of the reloader's begins, or goes on, once this is destroyed.
  class Registration {
   public:
    Registration() = default;
    Registration(Registration&& other) noexcept { *this = std::move(other); }
    Registration& operator=(Registration&& other) noexcept;
    ~Registration();

   private:
    friend class Reloads;
    Reloads* of_ = nullptr;
    std::list<Reloader>::iterator which_;
  };

  // Of the process.
  static Reloads& Get();

  [[nodiscard]] Registration Add(Reloader reloader);

  // Calls `call` with each. No reloader may be added or destroyed by it.
  void ForEach(const std::function<void(const Reloader&)>& call);

 private:
  absl::Mutex mutex_;
  std::list<Reloader> reloaders_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::config

#endif  // KAMINO_CONFIG_RELOAD_H_
