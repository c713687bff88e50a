// Lets an interrupted command print its results.
#ifndef KAMINO_CLIENT_CLI_INTERRUPTS_H_
#define KAMINO_CLIENT_CLI_INTERRUPTS_H_

#include <signal.h>

#include <array>
#include <utility>

namespace kamino::client {

// While an object of this class exists, the first SIGINT or SIGTERM is noted,
// and a second one ends the process. A signal that the parent ignores, as nohup
// does, stays ignored. At most one object exists at a time, and the thread that
// constructs it also destroys it.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // Whether a signal has been noted. Any thread may ask.
  static bool Noted();

 private:
  std::array<std::pair<int, struct sigaction>, 2> before_;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_INTERRUPTS_H_
