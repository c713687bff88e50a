#include "transport/socket/dialer.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "glog/logging.h"

namespace kamino::transport {

Dialer::Dialer(LinkContext* context, std::string peer, SocketTarget target)
    : context_(context),
      peer_(std::move(peer)),
      target_(std::move(target)),
      candidates_(target_.addresses) {}

void Dialer::Find(Keep keep, Found found) {
  found_ = std::move(found);
  if (target_.host.empty()) return Report(absl::OkStatus());
  finding_ = true;
  late_ = context_->loop->StartTimer(Resolver::kLate, [this] {
    late_ = 0;
    OnLate();
  });
  // The answer may come when the link, or the loop, has ended.
  target_.resolver->LookUp(
      target_.host, MonotonicNow() + context_->options.connect_timeout,
      [this, keep = std::move(keep), loop = context_->loop](
          const absl::StatusOr<Resolver::Addresses>& answer) {
        loop->Post([this, keep, answer] {
          const std::shared_ptr<void> kept = keep();
          if (kept != nullptr) OnAnswer(answer);
        });
      });
}

void Dialer::Stop() {
  if (late_ != 0) context_->loop->CancelTimer(late_);
  late_ = 0;
}

void Dialer::OnAnswer(const absl::StatusOr<Resolver::Addresses>& answer) {
  if (answer.ok()) {
    AddCandidates(*answer);
    if (finding_) FoundSome();
    return;
  }
  if (!finding_ || GoToLastGood(answer.status().message())) return;
  Report(answer.status());
}

void Dialer::OnLate() {
  const std::string why =
      absl::StrCat("the name server has not answered for \"", target_.host,
                   "\" within ", absl::FormatDuration(Resolver::kLate));
  if (GoToLastGood(why)) return;
  context_->TellFailure(peer_,
                        absl::UnavailableError(absl::StrCat(why, " yet")));
}

bool Dialer::GoToLastGood(absl::string_view why) {
  if (!target_.last_good) return false;
  const Resolver::Addresses known = target_.resolver->LastGood(target_.host);
  if (known.empty()) return false;
  AddCandidates(known);
  const auto end = context_->failures.Take(MonotonicNow());
  LOG_IF(WARNING, end.has_value())
      << "a link to " << peer_ << " goes to " << TextOf(candidates_.front())
      << ", the result of an earlier lookup: " << why << *end;
  FoundSome();
  return true;
}

void Dialer::AddCandidates(const Resolver::Addresses& addresses) {
  for (const SocketAddress& each : addresses) {
    const SocketAddress candidate = WithPort(each, target_.port);
    const bool known = std::any_of(
        candidates_.begin(), candidates_.end(),
        [&](const SocketAddress& one) { return AreSame(one, candidate); });
    if (!known) candidates_.push_back(candidate);
  }
}

void Dialer::FoundSome() {
  finding_ = false;
  Stop();
  Report(absl::OkStatus());
}

// The call may destroy the dialer.
void Dialer::Report(const absl::Status& status) {
  const Found found = std::exchange(found_, nullptr);
  found(status);
}

absl::StatusOr<UniqueFd> Dialer::Next() {
  while (next_candidate_ < candidates_.size()) {
    const SocketAddress& address = candidates_[next_candidate_++];
    UniqueFd socket(::socket(address.storage.ss_family,
                             SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (socket.valid() &&
        (::connect(socket.get(),
                   reinterpret_cast<const sockaddr*>(&address.storage),
                   address.length) == 0 ||
         errno == EINPROGRESS)) {
      return socket;
    }
    OnFailed(::strerror(errno));
  }
  return absl::UnavailableError(
      absl::StrCat("connect to ", peer_, ": ", error_));
}

}  // namespace kamino::transport
