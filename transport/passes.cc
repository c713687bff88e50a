#include "transport/passes.h"

#include <unistd.h>

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "openssl/rand.h"
#include "openssl/sha.h"

namespace kamino::transport {
namespace {

absl::StatusOr<std::string> RandomBytes() {
  std::string bytes(kPassBytes, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()),
                 static_cast<int>(bytes.size())) != 1) {
    return absl::UnavailableError(
        absl::StrCat("no random bytes for a pass: ", security::OpenSslError()));
  }
  return bytes;
}

std::string KeyOf(absl::string_view token) {
  std::string key(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(),
         reinterpret_cast<unsigned char*>(key.data()));
  return key;
}

}  // namespace

PassRegistry::PassRegistry() : PassRegistry(Options()) {}

PassRegistry::PassRegistry(Options options) : options_(std::move(options)) {}

void PassRegistry::DropLocked(std::list<Given>::iterator given) {
  const auto count =
      of_holder_.find(security::ToString(given->holder.identity()));
  if (--count->second == 0) of_holder_.erase(count);
  by_key_.erase(given->key);
  given_.erase(given);
}

void PassRegistry::DropOldLocked() {
  const absl::Time now = options_.now ? options_.now() : MonotonicNow();
  while (!given_.empty() && given_.front().until <= now) {
    DropLocked(given_.begin());
  }
}

absl::StatusOr<LinkPass> PassRegistry::Issue(
    const security::Certificate& holder) {
  LinkPass pass;
  for (std::string* half : {&pass.token, &pass.proof}) {
    absl::StatusOr<std::string> bytes = RandomBytes();
    if (!bytes.ok()) return bytes.status();
    *half = *std::move(bytes);
  }
  pass.user = ::geteuid();
  const std::string identity = security::ToString(holder.identity());
  absl::MutexLock lock(&mutex_);
  DropOldLocked();
  if (given_.size() >= options_.max_outstanding) {
    return absl::ResourceExhaustedError(
        absl::StrCat(given_.size(), " passes for links are outstanding"));
  }
  size_t& count = of_holder_[identity];
  if (count >= options_.max_of_holder) {
    return absl::ResourceExhaustedError(
        absl::StrCat(count, " passes for links of ", identity,
                     " are outstanding; each is good for ",
                     absl::FormatDuration(options_.valid)));
  }
  ++count;
  const absl::Time now = options_.now ? options_.now() : MonotonicNow();
  given_.push_back(
      {KeyOf(pass.token), pass.proof, holder, now + options_.valid});
  by_key_.emplace(given_.back().key, std::prev(given_.end()));
  return pass;
}

absl::StatusOr<PassRegistry::Taken> PassRegistry::Take(
    absl::string_view token) {
  const std::string key = KeyOf(token);
  absl::MutexLock lock(&mutex_);
  DropOldLocked();
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) {
    return absl::UnauthenticatedError(
        "it shows a pass that this process has not given out, or that has been "
        "used or is too old");
  }
  const auto given = found->second;
  Taken taken{given->holder, given->proof};
  DropLocked(given);
  return taken;
}

size_t PassRegistry::outstanding() const {
  absl::MutexLock lock(&mutex_);
  return given_.size();
}

}  // namespace kamino::transport
