// The destination of a stream of bytes.
#ifndef KAMINO_REPLICA_STATE_BYTE_SINK_H_
#define KAMINO_REPLICA_STATE_BYTE_SINK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace kamino::replica {

class ByteSink {
 public:
  virtual ~ByteSink() = default;

  // Takes the next bytes, which need not stay valid. An error ends the stream;
  // it is not known how much of `bytes` was taken.
  virtual absl::Status Append(absl::string_view bytes) = 0;
};

class StringSink final : public ByteSink {
 public:
  // Appends to `text`, which must outlive it.
  explicit StringSink(std::string* text) : text_(text) {}

  absl::Status Append(absl::string_view bytes) override {
    text_->append(bytes.data(), bytes.size());
    return absl::OkStatus();
  }

 private:
  std::string* const text_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_STATE_BYTE_SINK_H_
