// Applies a changed configuration to a running program (SIGHUP).
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
  std::string what;  // its name in the log: "roles"
  // Flags that it can change while running. Empty: it reloads a file that a
  // flag names.
  std::set<std::string> flags;
  // Called at each SIGHUP, on the thread that waits for signals, once the flags
  // have their new values. On an error it must leave its old state in force;
  // its flags are set back.
  std::function<absl::Status()> reload;
};

// Thread-safe.
class Reloads {
 public:
  // After its destruction no call of the reloader runs.
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

  // The process's instance.
  static Reloads& Get();

  [[nodiscard]] Registration Add(Reloader reloader);

  // Calls `call` with each reloader. `call` must not add or destroy one.
  void ForEach(const std::function<void(const Reloader&)>& call);

 private:
  absl::Mutex mutex_;
  std::list<Reloader> reloaders_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::config

#endif  // KAMINO_CONFIG_RELOAD_H_
