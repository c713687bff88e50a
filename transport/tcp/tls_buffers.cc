#include "transport/tcp/tls_buffers.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "transport/socket/tls_signs.h"

namespace kamino::transport {
namespace {

constexpr size_t kInput = size_t{64} << 10;
// Cuts off a peer that causes answers and does not receive them.
constexpr size_t kMostWaiting = size_t{256} << 10;
// Most memory kept for a thread; more than the gathered records.
constexpr size_t kMostSpare = size_t{256} << 10;

// Per thread: input buffer, unless a stream still needs its input.
thread_local std::unique_ptr<std::byte[]> spare_input;
// Per thread: where records gather, unless a stream has waiting ones. Empty.
thread_local std::string spare_output;

}  // namespace

void TlsInput::OnReadable(bool hung_up) {
  readable_ = true;
  hung_up_ |= hung_up;
}

void TlsInput::Drop() {
  if (bytes_ != nullptr && spare_input == nullptr) {
    spare_input = std::move(bytes_);
  }
  bytes_ = nullptr;
  begin_ = end_ = 0;
}

absl::StatusOr<TlsInput::Filled> TlsInput::Fill() {
  if (!readable_) {
    Drop();
    return Filled::kNothing;
  }
  if (bytes_ == nullptr) bytes_ = std::move(spare_input);
  if (bytes_ == nullptr) bytes_.reset(new std::byte[kInput]);
  while (true) {
    const ssize_t count = ::recv(socket_, bytes_.get(), kInput, MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      readable_ = false;
      Drop();
      return Filled::kNothing;
    }
    if (count < 0) {
      return absl::UnavailableError(
          absl::StrCat("lost the peer: ", ::strerror(errno)));
    }
    if (count == 0) return Filled::kEnd;
    begin_ = 0;
    end_ = static_cast<size_t>(count);
    // Later data has its own edge, except the stream's end if its edge came
    // with these bytes.
    if (end_ < kInput && !hung_up_) readable_ = false;
    if (!std::exchange(begun_, true) && !BeginsTls(bytes_[0])) {
      return Filled::kNotTls;
    }
    return Filled::kSome;
  }
}

size_t TlsInput::Take(char* to, size_t size) {
  const size_t taken = std::min(size, end_ - begin_);
  if (taken == 0) return 0;
  std::memcpy(to, bytes_.get() + begin_, taken);
  begin_ += taken;
  return taken;
}

bool TlsOutput::Add(const char* from, size_t size) {
  if (waiting() + size > kMostWaiting) return false;
  if (bytes_.empty()) bytes_.swap(spare_output);
  bytes_.append(from, size);
  return true;
}

absl::StatusOr<bool> TlsOutput::Flush() {
  while (waiting() > 0) {
    const ssize_t sent = ::send(socket_, bytes_.data() + begin_, waiting(),
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return false;
    if (sent < 0) {
      return absl::UnavailableError(
          absl::ErrnoToStatus(errno, "send").message());
    }
    begin_ += static_cast<size_t>(sent);
  }
  if (!bytes_.empty()) Drop();
  return true;
}

void TlsOutput::Drop() {
  bytes_.clear();
  begin_ = 0;
  if (spare_output.capacity() < bytes_.capacity() &&
      bytes_.capacity() <= kMostSpare) {
    spare_output.swap(bytes_);
  }
  bytes_ = std::string();
}

}  // namespace kamino::transport
