// A connection as httplib reads and writes it, within a time and a size.
#ifndef KAMINO_WEB_TIMED_STREAM_H_
#define KAMINO_WEB_TIMED_STREAM_H_

#include <cstddef>
#include <string>

#include "absl/time/time.h"
#include "httplib.h"

namespace kamino::web {

// Not thread-safe. `descriptor` does not block, and outlives this.
class TimedStream final : public httplib::Stream {
 public:
  // Until `deadline`, of MonotonicNow; no more than `max_read` bytes are read.
  TimedStream(int descriptor, absl::Time deadline, size_t max_read)
      : descriptor_(descriptor), deadline_(deadline), left_(max_read) {}

  bool is_readable() const override;
  bool is_writable() const override;
  // -1: the time is over, or the size.
  ssize_t read(char* to, size_t size) override;
  ssize_t write(const char* from, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return descriptor_; }

 private:
  // False: the time is over.
  bool Await(short events) const;

  const int descriptor_;
  const absl::Time deadline_;
  size_t left_;
};

}  // namespace kamino::web

#endif  // KAMINO_WEB_TIMED_STREAM_H_
