#include "client/session/connection.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "rpc/status.h"

namespace kamino::client {

using kamino::v1::SessionHello;
using kamino::v1::SessionWelcome;
using session::FrameKind;

namespace {

uint32_t MillisOf(absl::Duration timeout) {
  return static_cast<uint32_t>(
      std::clamp<int64_t>(absl::ToInt64Milliseconds(timeout), 1, 3600 * 1000));
}

}  // namespace

std::shared_ptr<Connection> Connection::Open(const SessionHello& hello,
                                             const WireMaker& make, Clock clock,
                                             Opened opened) {
  std::shared_ptr<Connection> connection(
      new Connection(std::move(clock), std::move(opened)));
  // Until the wire is known, only the hello is sent.
  std::shared_ptr<Wire> wire = make(connection);
  if (wire == nullptr) {
    connection->OnWireClosed(
        absl::UnavailableError("the carrier does not reach the node"));
    return connection;
  }
  {
    absl::MutexLock lock(&connection->mutex_);
    if (connection->state_ == State::kEnded) return connection;
    connection->wire_ = wire;
  }
  wire->Send(session::MakeFrame(FrameKind::kHello, hello.SerializeAsString()));
  return connection;
}

// --- Sending.

bool Connection::Send(session::Method method, uint64_t number,
                      absl::Duration timeout, absl::string_view body,
                      Done done) {
  return Send(
      method, number, timeout, body.size(),
      [body](char* to) { std::memcpy(to, body.data(), body.size()); },
      /*traceparent=*/"", std::move(done));
}

bool Connection::Send(session::Method method, uint64_t number,
                      absl::Duration timeout,
                      const google::protobuf::MessageLite& body,
                      absl::string_view traceparent, Done done) {
  const size_t bytes = body.ByteSizeLong();
  return Send(
      method, number, timeout, bytes,
      [&body](char* to) {
        body.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(to));
      },
      traceparent, std::move(done));
}

bool Connection::Send(session::Method method, uint64_t number,
                      absl::Duration timeout, size_t body_bytes,
                      absl::FunctionRef<void(char* to)> write,
                      absl::string_view traceparent, Done done) {
  {
    absl::MutexLock lock(&mutex_);
    if (state_ != State::kOpen) return false;
    while (next_tag_ == 0 || pending_.contains(next_tag_)) ++next_tag_;
    const uint32_t tag = next_tag_++;
    const absl::Time now = clock_();
    pending_[tag] = {std::move(done), now, now + timeout};
    const bool traces = !traceparent.empty() && welcome_.takes_traces();
    const bool fits =
        traces ? out_.HasRoom(body_bytes + traceparent.size(), /*parts=*/2)
               : out_.HasRoom(body_bytes);
    if (!out_.empty() && !fits) full_.push_back(out_.Take());
    session::Request request;
    request.tag = tag;
    if (traces) {
      session::Request trace;
      trace.tag = tag;
      trace.method = session::Method::kTrace;
      trace.body = traceparent;
      out_.Add(trace);
    }
    request.method = method;
    request.timeout_ms = MillisOf(timeout);
    request.number = number;
    write(out_.Add(request, body_bytes));
    if (std::exchange(busy_, true)) return true;
  }
  Flush();
  return true;
}

void Connection::Flush() {
  while (true) {
    std::shared_ptr<Wire> wire;
    std::string frame;
    {
      absl::MutexLock lock(&mutex_);
      if ((full_.empty() && out_.empty()) || wire_ == nullptr) {
        busy_ = false;
        return;
      }
      wire = wire_;
      if (full_.empty()) {
        frame = out_.Take();
      } else {
        frame = std::move(full_.front());
        full_.pop_front();
      }
    }
    wire->Send(std::move(frame));
  }
}

// --- Receiving.

void Connection::OnFrame(absl::string_view bytes) {
  auto frame = session::ParseFrame(bytes);
  if (!frame.ok()) return End(frame.status());
  switch (frame->kind) {
    case FrameKind::kWelcome:
      return OnWelcome(frame->parts);
    case FrameKind::kResponses:
      return OnResponses(*frame);
    case FrameKind::kGoodbye:
      return End(rpc::ErrorIn(frame->parts));
    default:
      return End(absl::InternalError("a frame that nodes do not send"));
  }
}

void Connection::OnWelcome(absl::string_view body) {
  if (opened_ == nullptr) return End(absl::InternalError("a second welcome"));
  if (!welcome_.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    return End(absl::InternalError("the welcome cannot be read"));
  }
  {
    absl::MutexLock lock(&mutex_);
    if (state_ != State::kOpening) return;
    state_ = State::kOpen;
  }
  std::exchange(opened_, nullptr)(shared_from_this(), welcome_);
}

void Connection::OnResponses(const session::Frame& frame) {
  std::vector<std::pair<Done, session::Response>> answered;
  answered.reserve(frame.count);
  absl::Status whole;
  bool flushes;
  {
    absl::MutexLock lock(&mutex_);
    heard_ = clock_();
    whole = session::VisitResponses(
        frame,
        [&](const session::Response& response)
            ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
              auto node = pending_.extract(response.tag);
              if (!node.empty()) {  // otherwise it took too long
                answered.emplace_back(std::move(node.mapped().done), response);
              }
              return true;
            });
    // Requests that the answers cause are collected meanwhile.
    flushes = !std::exchange(busy_, true);
  }
  for (auto& [done, response] : answered) {
    done({response.code == 0 ? absl::OkStatus() : rpc::ErrorIn(response.body),
          response.sequence, response.body});
  }
  if (flushes) Flush();
  if (!whole.ok()) End(whole);
}

void Connection::OnWireClosed(const absl::Status& why) {
  End(absl::UnavailableError(
      absl::StrCat("the connection to the node ended: ", why.message())));
  absl::MutexLock lock(&mutex_);
  over_ = true;
}

// --- The end.

void Connection::End(const absl::Status& why) {
  absl::btree_map<uint32_t, Pending> pending;
  std::shared_ptr<Wire> wire;
  {
    absl::MutexLock lock(&mutex_);
    state_ = State::kEnded;
    pending.swap(pending_);
    wire.swap(wire_);
  }
  if (wire != nullptr) wire->Close();
  if (opened_ != nullptr) std::exchange(opened_, nullptr)(nullptr, why);
  const absl::Status lost = absl::UnavailableError(why.message());
  for (auto& [tag, each] : pending) each.done({lost, 0, ""});
}

void Connection::Close() {
  std::shared_ptr<Wire> wire;
  {
    absl::MutexLock lock(&mutex_);
    wire = wire_;
  }
  // its thread ends the outstanding requests
  if (wire != nullptr) wire->Close();
}

void Connection::EndOverdue(absl::Time now) {
  std::vector<Done> overdue;
  bool hangs = false;
  {
    absl::MutexLock lock(&mutex_);
    for (auto it = pending_.begin(); it != pending_.end();) {
      if (it->second.deadline > now) {
        ++it;
        continue;
      }
      // Nothing has arrived since: other requests need not wait as long.
      hangs |= it->second.sent > heard_;
      overdue.push_back(std::move(it->second.done));
      if (out_.HasRoom(0)) {
        session::Request cancel;
        cancel.tag = it->first;
        cancel.method = session::Method::kCancel;
        out_.Add(cancel);
      }
      it = pending_.erase(it);
    }
    if (overdue.empty()) return;
  }
  for (Done& done : overdue) {
    done({absl::DeadlineExceededError("the node did not answer in time"), 0,
          ""});
  }
  if (hangs) Close();
}

}  // namespace kamino::client
