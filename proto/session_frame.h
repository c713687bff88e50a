// Frames of the session protocol; docs/formats/session.md. Nothing here knows
// what a session is: bytes in, parts out, and the reverse.
#ifndef KAMINO_PROTO_SESSION_FRAME_H_
#define KAMINO_PROTO_SESSION_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kamino::session {

inline constexpr uint32_t kVersion = 1;
inline constexpr size_t kMaxFrameBytes = size_t{5} << 20;
inline constexpr size_t kMaxParts = 1024;
// In front of a frame, and of each part of it.
inline constexpr size_t kHeaderBytes = 16;
inline constexpr size_t kPartHeaderBytes = 24;

enum class FrameKind : uint8_t {
  kHello = 1,
  kWelcome = 2,
  kRequests = 3,
  kResponses = 4,
  kGoodbye = 5,
};

enum class Method : uint16_t {
  kGet = 1,
  kBatchGet = 2,
  kPut = 3,
  kPatch = 4,
  kDelete = 5,
  kCommit = 6,
  kCall = 7,
  kVoid = 8,
  kKeepAlive = 9,
  kClose = 10,
  kCancel = 11,
  kTrace = 12,
};
inline constexpr uint16_t kLastMethod = 12;

// Whether a request of that method has a number.
constexpr bool IsMutation(Method method) {
  return method >= Method::kPut && method <= Method::kVoid;
}

struct Request {
  uint32_t tag = 0;
  Method method = Method::kGet;
  uint32_t timeout_ms = 0;  // 0: the default
  uint64_t number = 0;      // of a mutation; else 0
  absl::string_view body;
};

struct Response {
  uint32_t tag = 0;
  uint16_t code = 0;      // absl::StatusCode
  uint64_t sequence = 0;  // ResponseHeader.sequence
  absl::string_view body;
};

// Makes frames of parts.
class FrameWriter {
 public:
  // kRequests or kResponses, according to what is added.
  explicit FrameWriter(FrameKind kind) : kind_(kind) { Begin(); }

  void Add(const Request& request);
  void Add(const Response& response);
  // As one with a body of so many bytes, instead of its own: returns where they
  // go, until the next call.
  char* Add(const Request& request, size_t body_bytes);
  char* Add(const Response& response, size_t body_bytes);

  bool empty() const { return count_ == 0; }
  // Of the frame so far.
  size_t bytes() const { return frame_.size(); }
  // Whether a part with that much in its body still fits; or so many with that
  // much together.
  bool HasRoom(size_t body_bytes, uint32_t parts = 1) const {
    return count_ + parts <= kMaxParts &&
           frame_.size() + parts * (kPartHeaderBytes + 8) + body_bytes <=
               kMaxFrameBytes;
  }

  // The frame, and begins the next one.
  std::string Take();

 private:
  void Begin();
  char* AddPart(size_t body_bytes);

  const FrameKind kind_;
  size_t last_bytes_ = 0;  // of the frame before
  std::string frame_;
  uint32_t count_ = 0;
};

// A frame of one body: a hello, a welcome, a goodbye.
std::string MakeFrame(FrameKind kind, absl::string_view body);

struct Frame {
  FrameKind kind = FrameKind::kHello;
  uint32_t count = 0;
  absl::string_view parts;  // or the body
};

// kInvalidArgument: that is no frame, or one of another version; says why. The
// parts are looked at by those who visit them.
absl::StatusOr<Frame> ParseFrame(absl::string_view bytes);

// All parts in their order, until `visit` returns false. kInvalidArgument: they
// do not fill the frame; some may have been visited. Tags and numbers are as
// they came; a method that is not known comes as it is.
absl::Status VisitRequests(const Frame& frame,
                           absl::FunctionRef<bool(const Request&)> visit);
absl::Status VisitResponses(const Frame& frame,
                            absl::FunctionRef<bool(const Response&)> visit);

}  // namespace kamino::session

#endif  // KAMINO_PROTO_SESSION_FRAME_H_
