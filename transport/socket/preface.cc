#include "transport/socket/preface.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "transport/socket/tls_signs.h"
#include "xxhash.h"

namespace kamino::transport {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "the wire is little-endian and so must the host be");

uint64_t PrefaceChecksum(const Preface& preface) {
  return XXH3_64bits(&preface, offsetof(Preface, checksum));
}

}  // namespace

Preface MakePreface(SocketKind kind, SocketSide role, uint32_t max_message,
                    uint64_t ring_bytes, uint64_t era) {
  Preface preface = {};
  preface.magic = kPrefaceMagic;
  preface.version = kLinkVersion;
  preface.kind = static_cast<uint16_t>(kind);
  preface.max_message = max_message;
  preface.role = static_cast<uint32_t>(role);
  preface.ring_bytes = ring_bytes;
  preface.era = era;
  preface.checksum = PrefaceChecksum(preface);
  return preface;
}

absl::Status CheckPreface(const Preface& preface, size_t received,
                          SocketKind kind, SocketSide sender) {
  const char* bytes = reinterpret_cast<const char*>(&preface);
  if (std::memcmp(bytes, &kPrefaceMagic,
                  std::min(received, sizeof(kPrefaceMagic))) != 0) {
    if (received > 0 && BeginsTls(static_cast<std::byte>(bytes[0]))) {
      return absl::FailedPreconditionError(
          "the peer takes links by TLS only, and this side has no "
          "certificates: see --tls_cert");
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "not a peer of Kamino: it began with \"",
        absl::CHexEscape(absl::string_view(bytes, received)), "\""));
  }
  if (received < kPrefaceBytes) return absl::OkStatus();
  // Before the checksum, which another version may compute otherwise.
  if (preface.version != kLinkVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the peer speaks link version ", preface.version,
                     ", this side ", kLinkVersion));
  }
  if (preface.checksum != PrefaceChecksum(preface)) {
    return absl::FailedPreconditionError("the preface's checksum is wrong");
  }
  if (preface.kind == static_cast<uint16_t>(SocketKind::kRefused) &&
      sender == SocketSide::kAcceptor) {
    return absl::PermissionDeniedError(
        "the peer accepts no links from the identity of this side");
  }
  const auto with_pass = static_cast<uint16_t>(SocketKind::kShmWithPass);
  if (kind == SocketKind::kShm && preface.kind == with_pass) {
    return absl::FailedPreconditionError(
        "the peer takes links of known peers only, and this side has no "
        "certificates: see --tls_cert");
  }
  if (kind == SocketKind::kShmWithPass &&
      preface.kind == static_cast<uint16_t>(SocketKind::kShm)) {
    return absl::FailedPreconditionError(
        "the peer shows no pass, as a peer without certificates does, but this "
        "side has certificates");
  }
  if (preface.kind != static_cast<uint16_t>(kind)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the peer's link is of kind ", preface.kind,
                     ", this side's of kind ", static_cast<uint16_t>(kind)));
  }
  if (preface.role != static_cast<uint32_t>(sender)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the preface came from a link's end of role ",
                     preface.role, ": an echo, or both ends connected"));
  }
  if (preface.max_message == 0) {
    return absl::FailedPreconditionError("the peer accepts no message");
  }
  return absl::OkStatus();
}

}  // namespace kamino::transport
