// Encodes and decodes the frames of the session protocol
// (docs/formats/session.md), without the semantics of sessions.
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
// Sizes of a frame's header, and of the header of each part.
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
  uint64_t number = 0;      // of a mutation; otherwise 0
  absl::string_view body;
};

struct Response {
  uint32_t tag = 0;
  uint16_t code = 0;      // absl::StatusCode
  uint64_t sequence = 0;  // ResponseHeader.sequence
  absl::string_view body;
};

// Builds frames from parts.
class FrameWriter {
 public:
  // `kind`: kRequests or kResponses, matching the parts.
  explicit FrameWriter(FrameKind kind) : kind_(kind) { Begin(); }

  void Add(const Request& request);
  void Add(const Response& response);
  // Adds a part with room for a body of `body_bytes` instead of its own, and
  // returns where to write it. The pointer is valid until the next call.
  char* Add(const Request& request, size_t body_bytes);
  char* Add(const Response& response, size_t body_bytes);

  bool empty() const { return count_ == 0; }
  // Size of the frame so far.
  size_t bytes() const { return frame_.size(); }
  // Whether `parts` more parts fit, with `body_bytes` in their bodies together.
  bool HasRoom(size_t body_bytes, uint32_t parts = 1) const {
    return count_ + parts <= kMaxParts &&
           frame_.size() + parts * (kPartHeaderBytes + 8) + body_bytes <=
               kMaxFrameBytes;
  }

  // Returns the frame and begins the next one.
  std::string Take();

 private:
  void Begin();
  char* AddPart(size_t body_bytes);

  const FrameKind kind_;
  size_t last_bytes_ = 0;  // of the previous frame
  std::string frame_;
  uint32_t count_ = 0;
};

// A frame with one body: a hello, a welcome or a goodbye.
std::string MakeFrame(FrameKind kind, absl::string_view body);

struct Frame {
  FrameKind kind = FrameKind::kHello;
  uint32_t count = 0;
  absl::string_view parts;  // or the body
};

// kInvalidArgument: malformed, or of another version; the message says which.
// The parts are checked only by the Visit functions.
absl::StatusOr<Frame> ParseFrame(absl::string_view bytes);

// Visits the parts in order until `visit` returns false. kInvalidArgument: the
// parts do not fill the frame; some may have been visited. Tags, numbers and
// methods are passed on unchecked.
absl::Status VisitRequests(const Frame& frame,
                           absl::FunctionRef<bool(const Request&)> visit);
absl::Status VisitResponses(const Frame& frame,
                            absl::FunctionRef<bool(const Response&)> visit);

}  // namespace kamino::session

#endif  // KAMINO_PROTO_SESSION_FRAME_H_
