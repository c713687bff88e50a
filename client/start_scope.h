// Marks the stack of a function that begins a call. A call that ends on that
// stack, for example with an error that is known at once, must not run its
// callback there: the callback may begin another call, and the stack would grow
// without limit. Private to the library.
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
