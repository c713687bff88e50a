#include "proto/session_frame.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace kamino::session {
namespace {

static_assert(std::endian::native == std::endian::little,
              "numbers are sent as they are in memory");

constexpr uint16_t kMagic = 0x534b;  // "KS"

struct FrameHeader {
  uint16_t magic;
  uint8_t version;
  uint8_t kind;
  uint32_t count;
  uint32_t length;
  uint32_t zeros;
};
static_assert(sizeof(FrameHeader) == kHeaderBytes);

struct RequestHeader {
  uint32_t length;
  uint32_t tag;
  uint16_t method;
  uint16_t zeros;
  uint32_t timeout_ms;
  uint64_t number;
};
static_assert(sizeof(RequestHeader) == kPartHeaderBytes);

struct ResponseHeader {
  uint32_t length;
  uint32_t tag;
  uint16_t code;
  uint16_t zeros[3];
  uint64_t sequence;
};
static_assert(sizeof(ResponseHeader) == kPartHeaderBytes);

// Before it is known how much a frame takes.
constexpr size_t kMostReserved = 128u << 10;

constexpr size_t Padded(size_t bytes) { return (bytes + 7) & ~size_t{7}; }

// Calls `visit` with the header and the body of each part.
template <typename Header>
absl::Status VisitParts(
    const Frame& frame,
    absl::FunctionRef<bool(const Header&, absl::string_view)> visit) {
  absl::string_view left = frame.parts;
  for (uint32_t i = 0; i < frame.count; ++i) {
    Header header;
    if (left.size() < sizeof(header)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a frame of ", frame.count, " parts ends within part ", i + 1));
    }
    std::memcpy(&header, left.data(), sizeof(header));
    if (header.length < sizeof(header) || Padded(header.length) > left.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("part ", i + 1, " of a frame is of ", header.length,
                       " bytes; ", left.size(), " are left"));
    }
    if (!visit(header,
               left.substr(sizeof(header), header.length - sizeof(header)))) {
      return absl::OkStatus();
    }
    left.remove_prefix(Padded(header.length));
  }
  if (left.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      left.size(), " bytes behind the ", frame.count, " parts of a frame"));
}

}  // namespace

void FrameWriter::Begin() {
  frame_.assign(sizeof(FrameHeader), '\0');
  count_ = 0;
}

char* FrameWriter::AddPart(size_t body_bytes) {
  const size_t at = frame_.size();
  // Successive frames are often of one size. The writer reserves room only once
  // a frame has its first part.
  if (count_ == 0) frame_.reserve(std::min(last_bytes_, kMostReserved));
  frame_.resize(at + Padded(kPartHeaderBytes + body_bytes));
  ++count_;
  return frame_.data() + at;
}

void FrameWriter::Add(const Request& request) {
  // Not memcpy: an empty body may be at null.
  request.body.copy(Add(request, request.body.size()), request.body.size());
}

void FrameWriter::Add(const Response& response) {
  // Not memcpy: an empty body may be at null.
  response.body.copy(Add(response, response.body.size()), response.body.size());
}

char* FrameWriter::Add(const Request& request, size_t body_bytes) {
  RequestHeader header = {};
  header.length = static_cast<uint32_t>(sizeof(header) + body_bytes);
  header.tag = request.tag;
  header.method = static_cast<uint16_t>(request.method);
  header.timeout_ms = request.timeout_ms;
  header.number = request.number;
  char* const part = AddPart(body_bytes);
  std::memcpy(part, &header, sizeof(header));
  return part + sizeof(header);
}

char* FrameWriter::Add(const Response& response, size_t body_bytes) {
  ResponseHeader header = {};
  header.length = static_cast<uint32_t>(sizeof(header) + body_bytes);
  header.tag = response.tag;
  header.code = response.code;
  header.sequence = response.sequence;
  char* const part = AddPart(body_bytes);
  std::memcpy(part, &header, sizeof(header));
  return part + sizeof(header);
}

std::string FrameWriter::Take() {
  FrameHeader header = {};
  header.magic = kMagic;
  header.version = kVersion;
  header.kind = static_cast<uint8_t>(kind_);
  header.count = count_;
  header.length = static_cast<uint32_t>(frame_.size());
  std::memcpy(frame_.data(), &header, sizeof(header));
  std::string taken = std::move(frame_);
  last_bytes_ = taken.size();
  Begin();
  return taken;
}

std::string MakeFrame(FrameKind kind, absl::string_view body) {
  FrameHeader header = {};
  header.magic = kMagic;
  header.version = kVersion;
  header.kind = static_cast<uint8_t>(kind);
  header.count = 1;
  header.length = static_cast<uint32_t>(sizeof(header) + body.size());
  std::string frame(reinterpret_cast<const char*>(&header), sizeof(header));
  frame.append(body.data(), body.size());
  return frame;
}

absl::StatusOr<Frame> ParseFrame(absl::string_view bytes) {
  FrameHeader header;
  if (bytes.size() < sizeof(header)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a frame of ", bytes.size(), " bytes"));
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != kMagic) {
    return absl::InvalidArgumentError("that is no frame of a session");
  }
  if (header.version != kVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat("a frame of version ", header.version,
                     " of the session format; this is version ", kVersion));
  }
  if (header.length != bytes.size() || bytes.size() > kMaxFrameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a frame of ", bytes.size(), " bytes that says it has ",
                     header.length, "; at most ", kMaxFrameBytes));
  }
  if (header.kind < 1 || header.kind > 5 || header.count == 0 ||
      header.count > kMaxParts) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a frame of kind ", header.kind, " with ", header.count, " parts"));
  }
  return Frame{static_cast<FrameKind>(header.kind), header.count,
               bytes.substr(sizeof(header))};
}

absl::Status VisitRequests(const Frame& frame,
                           absl::FunctionRef<bool(const Request&)> visit) {
  return VisitParts<RequestHeader>(
      frame, [&](const RequestHeader& header, absl::string_view body) {
        return visit({header.tag, static_cast<Method>(header.method),
                      header.timeout_ms, header.number, body});
      });
}

absl::Status VisitResponses(const Frame& frame,
                            absl::FunctionRef<bool(const Response&)> visit) {
  return VisitParts<ResponseHeader>(
      frame, [&](const ResponseHeader& header, absl::string_view body) {
        return visit({header.tag, header.code, header.sequence, body});
      });
}

}  // namespace kamino::session
