// Marks the stack of a function that begins a call. A call that ends on that
// stack, as by an error that is known already, must not run its callback there:
// a callback may begin the next call, and each one would add frames to the same
// stack without end. Private to the library.
#ifndef KAMINO_CLIENT_START_SCOPE_H_
#define KAMINO_CLIENT_START_SCOPE_H_

namespace kamino::client {

// Applies to the thread that constructs it.
class StartScope {
 public:
  StartScope() { ++depth; }
  ~StartScope() { --depth; }
  StartScope(const StartScope&) = delete;
  StartScope& operator=(const StartScope&) = delete;

  // Whether this thread is within one.
  static bool active() { return depth > 0; }

 private:
  static inline thread_local int depth = 0;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_START_SCOPE_H_
